import { backoffMs } from '../core/backoff.ts'
import { afterClaim, afterHandler, isMarked, type DeadLetterReason, type Policy } from '../core/decision.ts'
import type { MarkVerdict, Result } from '../core/record.ts'
import { resultOf } from '../core/result.ts'
import { atOnce } from '../foundation/at-once.ts'
import { OnceError, StoreError, TerminalError, errorClass, hasCode } from '../foundation/errors.ts'
import { failureFrom, keptValue, notKept, openKept, RETURN_A_BOOLEAN, sealed } from '../pipeline/handling/remember.ts'
import {
  faultOfMark,
  faultOfRelease,
  faultOfSetAside,
  faultsOfClaims,
  type FindFault,
} from '../pipeline/store/store-answers.ts'
import { StoreLine } from '../pipeline/store/store-line.ts'
import type { StoreOperation } from '../ports/observer.ts'
import type { Claim, ClaimAnswer, ReleaseOptions, Store } from '../ports/store.ts'
import type { OnceSettings } from './options.ts'
import { OnceRun, type Granted, type OnceKeeper, type RunContext, type RunEnd } from './run.ts'
import type { Wait } from './wait.ts'

/** How often a claim is repeated while another process is busy with the key. */
const POLL = { initialMs: 50, maxMs: 1_000 }

const NOTHING = resultOf(undefined)

/** What a call is answered. */
export interface Answered {
  /** The result or the failure that is kept, not sealed. */
  readonly kept: Result
  readonly isReplayed: boolean
  /** The function threw this in this call, and it is kept as the answer. */
  readonly thrown?: { readonly error: unknown }
}

/** The user's function, with the claim under which it runs. */
export type OnceWork = (context: RunContext, claim: Claim) => unknown

interface CallParts {
  readonly store: Store<unknown>
  readonly keeper: OnceKeeper
  readonly settings: OnceSettings
  readonly work: OnceWork
}

/** One call that no other call of this process waits for: claim, run, mark. */
export class Call {
  readonly #store: Store<unknown>
  readonly #keeper: OnceKeeper
  readonly #settings: OnceSettings
  readonly #work: OnceWork
  readonly #policy: Policy

  constructor({ store, keeper, settings, work }: CallParts) {
    this.#store = store
    this.#keeper = keeper
    this.#settings = settings
    this.#work = work
    // The caller decides how often it calls again.
    this.#policy = { maxAttempts: Number.POSITIVE_INFINITY, onInDoubt: settings.onInDoubt, onBeyondRetention: 'run' }
  }

  /** Claims until the key is done, or this call has the claim and its run has an end. */
  async answer(wait: Wait): Promise<Answered> {
    for (let polls = 1; ; polls++) {
      const { answer, sentAt } = await this.#claim(wait)
      const answered = await this.#follow(answer, sentAt, async (leaseLeftMs) => {
        const { entropy } = this.#settings
        const pollMs = backoffMs(polls, POLL, entropy.fraction())
        await this.#busy(wait, Math.min(pollMs, Math.ceil(leaseLeftMs) + 1))
      })
      if (answered !== undefined) return answered
    }
  }

  /** `undefined`: claim again. */
  async #follow(
    answer: ClaimAnswer<unknown>,
    sentAt: number,
    busy: (leaseLeftMs: number) => Promise<void>,
  ): Promise<Answered | undefined> {
    const step = afterClaim(answer, this.#policy)
    switch (step.next) {
      case 'settle-duplicate':
        return { kept: this.#opened(step.result), isReplayed: true }
      case 'wait':
        await busy(step.waitMs)
        return undefined
      case 'handle':
        return this.#granted(grantOf(answer, sentAt), (granted) => this.#run(granted))
      case 'reconcile':
        return this.#granted(grantOf(answer, sentAt), (granted) => this.#reconcile(granted))
      case 'set-aside':
        return this.#park(grantOf(answer, sentAt).claim, step.reason)
      case 'dead-letter':
        if (answer.verdict === 'conflict')
          throw new OnceError('ONCE_CONFLICT', 'this key was used with another payload')
        throw setAside(step.reason, step.detail)
      case 'skip':
      case 'claim-alone':
      case 'rewind':
        throw new StoreError('STORE_MISUSED', `the store: got ${answer.verdict} for a claim of one key, alone`)
    }
  }

  async #busy(wait: Wait, forMs: number): Promise<void> {
    if (this.#settings.whenBusy === 'refuse' || wait.leftMs === 0) throw busyError()
    await wait.for(forMs)
    wait.check()
  }

  /** The last check before effects begin: the answer may have been slow, and the caller may have gone. */
  async #granted(
    granted: Granted,
    begin: (granted: Granted) => Promise<Answered | undefined>,
  ): Promise<Answered | undefined> {
    const { clock, signal } = this.#settings
    const mayBegin = this.#keeper.mayBegin(granted.sentAt, clock.monotonic())
    if (mayBegin && signal?.aborted !== true) return begin(granted)
    await this.#release(granted.claim, { refund: true, doubt: false })
    signal?.throwIfAborted()
    return undefined
  }

  async #run(granted: Granted): Promise<Answered | undefined> {
    const { claim } = granted
    const run = new OnceRun({ keeper: this.#keeper, settings: this.#settings, granted })
    try {
      const end = await run.start(
        (context) => this.#work(context, claim),
        (value) => void this.#markLate(claim, value),
      )
      return end.result === 'handled' ? await this.#handled(claim, end.value) : await this.#failed(granted, end)
    } finally {
      run.close()
    }
  }

  async #handled(claim: Claim, value: unknown): Promise<Answered | undefined> {
    let kept: Result
    let thrown: Answered['thrown']
    try {
      kept = keptValue(value, claim.key, this.#settings)
    } catch (error) {
      if (this.#store.strategy !== 'lease')
        await this.#release(claim, { refund: false, doubt: false, cause: errorClass(error) })
      if (this.#store.strategy !== 'lease' || !(error instanceof TerminalError)) throw error
      // The effect has happened: without a mark it would happen again.
      kept = notKept(error, this.#settings)
      thrown = { error }
    }
    if (!(await this.#mark(claim, kept))) return undefined
    return { kept: this.#opened(kept), isReplayed: false, ...(thrown && { thrown }) }
  }

  async #failed({ claim, doubt }: Granted, { result, error }: RunEnd): Promise<Answered | undefined> {
    const isLease = this.#store.strategy === 'lease'
    const kept = result === 'failed' || result === 'fatal' ? this.#rememberedFailure(error, claim) : undefined
    const isUnknown = (result === 'unknown' || result === 'stuck') && isLease
    const ended = kept === undefined ? (isUnknown ? 'unknown' : 'failed') : 'remembered'
    const step = afterHandler(ended, { attempt: claim.attempt, doubt }, this.#policy)
    if (step.next === 'mark' && kept !== undefined) {
      if (!(await this.#mark(claim, kept))) return undefined
      return { kept: this.#opened(kept), isReplayed: false, thrown: { error } }
    }
    if (step.next === 'set-aside') await this.#setAside(claim, step.reason)
    // A function that may still run keeps its lease until that ends.
    else if (result !== 'stuck' || !isLease) {
      await this.#release(claim, { refund: false, doubt: isUnknown, cause: errorClass(error) })
    }
    throw error
  }

  #rememberedFailure(error: unknown, { key }: Claim): Result | undefined {
    try {
      const answer: unknown = atOnce('rememberFailure', this.#settings.rememberFailure?.(error), RETURN_A_BOOLEAN)
      return answer === true ? sealed(failureFrom(error), key, this.#settings) : undefined
    } catch {
      return undefined
    }
  }

  /** The user's function finds out whether the effect of an earlier run happened. */
  async #reconcile(granted: Granted): Promise<Answered | undefined> {
    const { claim } = granted
    const { reconcile, idempotencyKey } = this.#settings
    const run = new OnceRun({ keeper: this.#keeper, settings: this.#settings, granted })
    try {
      const end = await run.start(
        () => reconcile?.(idempotencyKey),
        () => {},
      )
      const { value } = end
      if (end.result !== 'handled') {
        if (end.result !== 'stuck')
          await this.#release(claim, { refund: true, doubt: true, cause: errorClass(end.error) })
        throw end.error
      }
      if (value === 'did-not-happen') {
        run.close()
        return await this.#run(run.granted)
      }
      if (typeof value === 'object' && value !== null && 'result' in value)
        return await this.#handled(claim, value.result)
      return await this.#park(claim, 'in-doubt')
    } finally {
      run.close()
    }
  }

  async #park(claim: Claim, reason: DeadLetterReason): Promise<undefined> {
    if (await this.#setAside(claim, reason)) throw setAside(reason, 'an earlier run ended without a known end')
    return undefined
  }

  /** False: the store refused it, because another owner has the key. */
  async #setAside(claim: Claim, reason: DeadLetterReason): Promise<boolean> {
    const call = () => this.#store.setAside([claim], 'parked', { reason })
    return (await this.#ask('setAside', call, faultOfSetAside, this.#forLease)) !== 'refused'
  }

  async #claim(wait: Wait): Promise<{ readonly answer: ClaimAnswer<unknown>; readonly sentAt: number }> {
    const { scope, key, digest, leaseMs, retentionMs, clock, entropy } = this.#settings
    const token = entropy.ownerToken()
    const request = { scope, token, leaseMs, retentionMs, alone: true, items: [{ key, digest }] }
    let sentAt = 0
    const call = (): Promise<readonly ClaimAnswer<unknown>[]> => {
      sentAt = clock.monotonic()
      return this.#store.claim(request)
    }
    const faultOf = faultsOfClaims(request, this.#store.strategy)
    try {
      const answer = await this.#ask('claim', call, faultOf, (giveUp) => wait.onEnd(wait.leftMs, giveUp))
      return { answer, sentAt }
    } catch (error) {
      wait.check()
      throw error
    }
  }

  /** False: another owner has the key. Its answer is the answer of this call too. */
  async #mark(claim: Claim, kept: Result): Promise<boolean> {
    let refusal: { readonly error: unknown } | undefined
    const call = async (): Promise<readonly MarkVerdict[]> => {
      try {
        return await this.#store.mark([claim], [kept])
      } catch (error) {
        // Nothing was committed, and asking again would not change the answer.
        if (!hasCode(error, 'FLOATING_QUERY') && !hasCode(error, 'COMMIT_REFUSED')) throw error
        refusal = { error }
        return ['refused-busy']
      }
    }
    const verdict = await this.#ask('mark', call, faultOfMark, this.#forLease)
    if (refusal === undefined) return isMarked(verdict)
    await this.#release(claim, { refund: false, doubt: false, cause: errorClass(refusal.error) })
    throw refusal.error
  }

  /** Under a lease the effect of a function that ended too late did happen. */
  async #markLate(claim: Claim, value: unknown): Promise<void> {
    if (this.#store.strategy !== 'lease') return
    try {
      await this.#store.mark([claim], [keptValue(value, claim.key, this.#settings)])
    } catch {
      // The record stays in doubt, as it was.
    }
  }

  async #release(claim: Claim, how: ReleaseOptions): Promise<void> {
    const { clock, graceMs } = this.#settings
    const call = () => this.#store.release([claim], how)
    try {
      await this.#ask('release', call, faultOfRelease, (giveUp) => clock.after(graceMs, giveUp))
    } catch {
      // The caller is told why its function failed. The lease ends by itself.
    }
  }

  readonly #forLease = (giveUp: () => void): (() => void) => this.#settings.clock.after(this.#settings.leaseMs, giveUp)

  /**
   * Asks the store until it answers, with the same token. `limit` begins with the first failure.
   *
   * @throws StoreError when `limit` is over
   */
  async #ask<T>(
    operation: StoreOperation,
    call: () => Promise<readonly T[]>,
    faultOf: FindFault<T>,
    limit: (giveUp: () => void) => () => void,
  ): Promise<T> {
    const { clock, entropy } = this.#settings
    let failure: unknown
    let cancel: (() => void) | undefined
    const line = new StoreLine(clock, entropy, {
      onCall: (_operation, _count, _sentAt, error) => {
        failure = error
      },
      onReachable: (listener) => this.#store.onReachable?.(listener),
      onDown: () => {
        cancel = limit(() => line.abandon())
      },
      onUp: () => {},
    })
    try {
      const [answer] = (await line.ask(operation, 1, call, faultOf)) ?? []
      if (answer === undefined) throw unanswered(operation, failure)
      return answer
    } finally {
      cancel?.()
    }
  }

  #opened(kept: Result = NOTHING): Result {
    return openKept(kept, this.#settings.key, { consumer: this.#settings, observe: () => {} })
  }
}

export function busyError(): OnceError {
  return new OnceError('ONCE_BUSY', 'another call with this key is under way')
}

function setAside(reason: string, detail: string): OnceError {
  return new OnceError(
    'ONCE_SET_ASIDE',
    `this key is set aside (${reason}): ${detail}; a person must decide about it`,
    reason,
  )
}

function unanswered(operation: StoreOperation, cause: unknown): StoreError {
  return operation === 'claim'
    ? new StoreError('STORE_UNREACHABLE', 'the store did not answer the claim; the function was not called', { cause })
    : new StoreError('STORE_AMBIGUOUS', `the store did not answer (${operation}) after the function had run`, { cause })
}

function grantOf(answer: ClaimAnswer<unknown>, sentAt: number): Granted {
  if (!('claim' in answer)) throw new TypeError('a grant without a claim (once/call.grantOf)')
  return { claim: answer.claim, sentAt, doubt: answer.verdict === 'taken-over' }
}
