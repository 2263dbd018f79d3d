import { backoffMs } from '../core/backoff.ts'
import { afterClaim, afterRun, isMarked, type DeadLetterReason, type Ground, type Policy } from '../core/decision.ts'
import type { MarkVerdict, RecordView, Result } from '../core/record.ts'
import { isFailure, resultOf } from '../core/result.ts'
import { OnceError, StoreError, TransactionError, describeError, errorClass, hasCode } from '../foundation/errors.ts'
import { openKept, remember, type Keeping, type KeepingTold } from '../execution/kept.ts'
import type { RunEnd } from '../execution/run-end.ts'
import { faultOfMark, faultOfRelease, faultOfSetAside, faultsOfClaims } from '../execution/store-answers.ts'
import type { DurationMs } from '../core/units.ts'
import type { Claim, ClaimAnswer, ReleaseOptions, Store, TransactionClaim } from '../ports/store.ts'
import { askStore, type Asking, type Limit } from './ask.ts'
import { LostRun } from './lost-run.ts'
import type { OnceSettings } from './options.ts'
import { OnceRun, type Granted, type OnceDeadlines, type OnceEnd, type RunContext } from './run.ts'
import type { Turn, Turns } from './turns.ts'
import { Wait } from './wait.ts'

/** How often a claim is repeated while another process is busy with the key. */
const POLL = { initialMs: 50, maxMs: 1_000 }

/** Pauses before the function runs again, because nothing of its last run was committed. */
const RERUN = { initialMs: 20, maxMs: 1_000 }

/** Runs of the function by one call, if the connection of its transaction is lost in each, or its lease. */
const MOST_LOST = 3

/** Runs of the function by one call, if each is a deadlock victim or fails to serialize, as in core/losses.ts. */
const MOST_CONFLICTS = 20

/** An answer of the store that is on its way when the caller leaves is waited for, for so long. */
const LAST_MS: DurationMs = 100

/** Who has a key is asked for so long, after the deadline of a claim: MySQL waits for a lock for whole seconds. */
const LOOK_MS: DurationMs = 2_000

/** States of a record that keep a claim waiting, or have. */
const OF_ANOTHER: ReadonlySet<RecordView['state']> = new Set(['processing', 'done'])

const NOTHING = resultOf(undefined)

const ONE_RUN = { messages: 1, isInterrupted: false, losses: 0 }

/** The caller learns it from what it gets. */
const UNTOLD: KeepingTold = { policyThrew: () => {}, notKept: () => {} }

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
  readonly deadlines: OnceDeadlines
  readonly settings: OnceSettings
  readonly work: OnceWork
  readonly wait: Wait
  /** Shared by all calls on the store. */
  readonly turns: Turns
}

/** What became of a mark. */
type Marked =
  | { readonly is: 'marked' }
  /** Another owner has the key. Its answer is the answer of this call too. */
  | { readonly is: 'another-owner' }
  /** Inbox only: effect and mark are rolled back, and nobody else has the key. */
  | ({ readonly is: 'not-committed' } & Lost)

/** A run of which nothing is left: another one may succeed. */
interface Lost {
  /** What the caller gets if no other run follows. */
  readonly error: unknown
  readonly mostRuns: number
}

/** One call that no other call of this process waits for: claim, run, mark. */
export class Call {
  readonly #store: Store<unknown>
  readonly #deadlines: OnceDeadlines
  readonly #settings: OnceSettings
  readonly #work: OnceWork
  readonly #wait: Wait
  readonly #policy: Policy
  readonly #keeping: Keeping
  readonly #ground: Ground
  #isBusy = false
  #lostRuns = 0
  #lost: Lost | undefined
  readonly #turns: Turns
  #turn: Turn | undefined
  /** A claim that nobody waits for any more was not granted. */
  #onRefused: (() => void) | undefined

  constructor({ store, deadlines, settings, work, wait, turns }: CallParts) {
    this.#store = store
    this.#deadlines = deadlines
    this.#settings = settings
    this.#work = work
    this.#wait = wait
    this.#turns = turns
    const { rememberFailure, maxResultBytes, sealResult } = settings
    this.#keeping = { rememberResult: true, rememberFailure, maxResultBytes, sealResult }
    this.#ground = store.strategy === 'lease' ? 'lease' : 'transaction'
    // The caller decides how often it calls again.
    this.#policy = { maxAttempts: Number.POSITIVE_INFINITY, onInDoubt: settings.onInDoubt, onBeyondRetention: 'run' }
  }

  /** Claims until the key is done, or this call has the claim and its run has an end. */
  async answer(): Promise<Answered> {
    try {
      return await this.#answer()
    } finally {
      this.#turn?.done()
    }
  }

  async #answer(): Promise<Answered> {
    for (let polls = 1; ; polls++) {
      const { answer, sentAt } = await this.#claim()
      const answered = await this.#follow(answer, sentAt, async (leaseLeftMs) => {
        const { entropy } = this.#settings
        const pollMs = backoffMs(polls, POLL, entropy.fraction())
        await this.#busy(Math.min(pollMs, Math.ceil(leaseLeftMs) + 1))
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

  async #busy(forMs: number): Promise<void> {
    this.#isBusy = true
    this.#turn?.done()
    if (this.#settings.whenBusy === 'refuse' || this.#wait.leftMs === 0) throw busyError()
    await this.#wait.for(forMs)
    this.#wait.check()
    if (this.#wait.leftMs === 0) throw busyError()
  }

  /** Another run may follow this one, after a pause and within the wait of the call: claim again. */
  async #again(lost: Lost): Promise<undefined> {
    const { entropy } = this.#settings
    const runs = ++this.#lostRuns
    const hasMet = lost.mostRuns === MOST_CONFLICTS
    const error = hasMet ? conflictError(lost.error, runs) : lost.error
    if (!this.#settings.runsAgain) throw new LostRun(error)
    this.#lost = { ...lost, error }
    if (runs >= lost.mostRuns || this.#wait.leftMs === 0) throw error
    this.#turn?.done()
    await this.#wait.for(backoffMs(runs, RERUN, entropy.fraction()))
    if (hasMet) {
      this.#turn = this.#turns.take()
      // The call before this one may take long.
      await this.#wait.for(Math.ceil(this.#wait.leftMs / 2), this.#turn.come)
    }
    this.#wait.check()
    if (this.#wait.leftMs === 0) throw error
  }

  /** The last check before effects begin: the answer may have been slow, and the caller may have gone. */
  async #granted(
    granted: Granted,
    begin: (granted: Granted) => Promise<Answered | undefined>,
  ): Promise<Answered | undefined> {
    const { clock, signal } = this.#settings
    const mayBegin = this.#deadlines.mayBegin(granted.sentAt, clock.monotonic())
    const isTooLate = this.#lost !== undefined && this.#wait.leftMs === 0
    if (mayBegin && !isTooLate && signal?.aborted !== true) return begin(granted)
    await this.#release(granted.claim, { refund: true, doubt: false })
    signal?.throwIfAborted()
    if (isTooLate) throw this.#lost?.error
    return undefined
  }

  async #run(granted: Granted): Promise<Answered | undefined> {
    const { claim } = granted
    const run = new OnceRun({ deadlines: this.#deadlines, settings: this.#settings, granted })
    try {
      const end = await run.start(
        (context) => this.#work(context, claim),
        (late) => void this.#markLate(claim, late),
      )
      return await this.#ended(granted, end)
    } finally {
      run.close()
    }
  }

  async #ended({ claim, doubt: wasInDoubt }: Granted, how: OnceEnd): Promise<Answered | undefined> {
    const { isStuck, isAborted } = how
    // A conflict of transactions is no answer of the function, whatever it made of the error.
    if ((how.result === 'failed' || how.result === 'fatal') && isConflict(claim)) {
      await this.#release(claim, { refund: true, doubt: false, cause: errorClass(how.error) })
      return this.#again({ error: how.error, mostRuns: MOST_CONFLICTS })
    }
    const end = this.#remembered(how, isAborted)
    const { result, error, kept } = end
    const step = afterRun(
      // The caller decides what follows a failure.
      { ...ONE_RUN, result: result === 'fatal' ? 'failed' : result, attempt: claim.attempt, doubt: wasInDoubt },
      this.#ground,
      this.#policy,
    )
    if (step.next === 'mark' && kept !== undefined)
      return this.#marked(claim, kept, 'error' in end ? { error } : undefined)
    if (step.next === 'set-aside') await this.#setAside(claim, step.reason)
    // A function that may still run keeps its lease until that ends.
    else if (!isStuck || this.#ground !== 'lease') {
      const doubt = step.next === 'rerun-in-doubt' // mutant: once-forgets-doubt
      await this.#release(claim, { refund: false, doubt, cause: errorClass(error) })
    }
    throw error
  }

  #remembered(end: RunEnd, isAborted: boolean): RunEnd {
    const run = { key: this.#settings.key, isAborted, isInTransaction: this.#ground !== 'lease' }
    return remember(end, run, this.#keeping, UNTOLD)
  }

  /** `thrown`: the function threw it, or its result cannot be kept; it is kept as the answer. */
  async #marked(claim: Claim, kept: Result, thrown: Answered['thrown']): Promise<Answered | undefined> {
    const marked = await this.#mark(claim, kept)
    switch (marked.is) {
      case 'marked':
        return { kept: this.#opened(kept), isReplayed: false, ...(thrown && { thrown }) }
      case 'another-owner':
        this.#lost = { error: busyError(), mostRuns: MOST_LOST }
        if (++this.#lostRuns >= MOST_LOST) throw this.#lost.error
        return undefined
      case 'not-committed':
        return this.#again(marked)
    }
  }

  /** The user's function finds out whether the effect of an earlier run happened. */
  async #reconcile(granted: Granted): Promise<Answered | undefined> {
    const { claim } = granted
    const { reconcile, idempotencyKey } = this.#settings
    const run = new OnceRun({ deadlines: this.#deadlines, settings: this.#settings, granted })
    try {
      const end = await run.start(
        () => reconcile?.(idempotencyKey),
        () => {},
      )
      const { value } = end
      if (end.result !== 'handled') {
        if (!end.isStuck) await this.#release(claim, { refund: true, doubt: true, cause: errorClass(end.error) })
        throw end.error
      }
      if (value === 'did-not-happen') {
        run.close()
        return await this.#run(run.granted)
      }
      if (typeof value === 'object' && value !== null && 'result' in value)
        return await this.#ended(granted, { ...end, value: value.result })
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
    return (await this.#ask({ operation: 'setAside', call, faultOf: faultOfSetAside })) !== 'refused'
  }

  async #claim(): Promise<{ readonly answer: ClaimAnswer<unknown>; readonly sentAt: number }> {
    const { scope, key, digest, leaseMs, retentionMs, clock, entropy } = this.#settings
    const token = entropy.ownerToken()
    const request = { scope, token, leaseMs, retentionMs, alone: true, items: [{ key, digest }] }
    let sentAt = 0
    // A timer may be early, so that a part of a millisecond is left.
    let isOver = false
    const call = (): Promise<readonly ClaimAnswer<unknown>[]> => {
      sentAt = clock.monotonic()
      return this.#store.claim(request)
    }
    const asked = this.#ask({
      operation: 'claim',
      call,
      faultOf: faultsOfClaims(request, this.#store.strategy),
      // After a run the call is no longer bound by its wait, but it must learn what became of the key.
      ...(this.#lost === undefined && {
        limit: (giveUp) =>
          this.#wait.onEnd(this.#wait.leftMs, () => {
            isOver = true
            giveUp()
          }),
      }),
      late: (late) => {
        // On an inbox it holds a transaction, and with that a connection.
        if ('claim' in late) void this.#release(late.claim, { refund: true, doubt: false })
        else this.#onRefused?.()
      },
    })
    const answer = await asked.catch(async (error: unknown) => {
      const isLate = (isOver || this.#wait.leftMs === 0) && hasCode(error, 'STORE_UNREACHABLE')
      // `#isBusy`: the deadline came while the key was asked for once more.
      if (isLate && (this.#isBusy || (error.cause === undefined && (await this.#isHeld())))) throw busyError()
      throw error
    })
    return { answer, sentAt }
  }

  /**
   * At the deadline a claim has no answer: on an inbox it may wait for the transaction of another owner, for longer than
   * its caller does. False: nothing says so, or the store does not answer this either.
   */
  async #isHeld(): Promise<boolean> {
    const { admin, strategy } = this.#store
    if (strategy !== 'inbox' || admin === undefined) return false
    const { clock, signal, scope, key } = this.#settings
    const look = new Wait(clock, LOOK_MS, signal)
    const refused = new Promise<true>((resolve) => {
      this.#onRefused = () => resolve(true)
    })
    const seen = admin.peek(scope, [key]).then(
      ([record]) => (record !== undefined && OF_ANOTHER.has(record.state) ? true : refused),
      () => refused,
    )
    const isHeld = await look.for(LOOK_MS, Promise.race([refused, seen]))
    look.check()
    return isHeld === true
  }

  async #mark(claim: Claim, kept: Result): Promise<Marked> {
    let failure: unknown
    let refusal: { readonly error: unknown } | undefined
    const call = async (): Promise<readonly MarkVerdict[]> => {
      try {
        return await this.#store.mark([claim], [kept])
      } catch (error) {
        failure = error
        // Nothing was committed, and asking again would not change the answer.
        if (!hasCode(error, 'FLOATING_QUERY') && !hasCode(error, 'COMMIT_REFUSED')) throw error
        refusal = { error }
        return ['refused-busy']
      }
    }
    const verdict = await this.#ask({ operation: 'mark', call, faultOf: faultOfMark })
    if (refusal !== undefined) {
      const { error } = refusal
      await this.#release(claim, { refund: false, doubt: false, cause: errorClass(error) })
      if (!isConflict(claim)) throw error
      return { is: 'not-committed', error, mostRuns: MOST_CONFLICTS }
    }
    if (isMarked(verdict)) return { is: 'marked' }
    // A remembered failure is written after the rollback, when another owner may have the key.
    const isRolledBack = this.#ground === 'transaction' && verdict === 'refused-busy' && !isFailure(kept)
    return isRolledBack
      ? { is: 'not-committed', error: lostError(failure), mostRuns: MOST_LOST }
      : { is: 'another-owner' }
  }

  /** Under a lease the effect of a function that ended too late did happen. */
  async #markLate(claim: Claim, how: RunEnd): Promise<void> {
    if (this.#ground !== 'lease' || how.result !== 'handled') return
    try {
      await this.#store.mark([claim], [this.#remembered(how, false).kept])
    } catch {
      // The record stays in doubt, as it was.
    }
  }

  async #release(claim: Claim, how: ReleaseOptions): Promise<void> {
    const { clock, graceMs } = this.#settings
    const call = () => this.#store.release([claim], how)
    const limit: Limit = (giveUp) => clock.after(graceMs, giveUp)
    try {
      await this.#ask({ operation: 'release', call, faultOf: faultOfRelease, limit })
    } catch {
      // The caller is told why its function failed. The lease ends by itself.
    }
  }

  readonly #forLease: Limit = (giveUp) => this.#settings.clock.after(this.#settings.leaseMs, giveUp)

  /** The caller has left: nothing that the store still says is for it. */
  readonly #leave: Limit = (leave) => {
    let cancel: (() => void) | undefined
    const forget = this.#wait.onAbort(() => {
      cancel = this.#settings.clock.after(LAST_MS, leave)
    })
    return () => {
      forget()
      cancel?.()
    }
  }

  /**
   * As `askStore`, for as long as a lease. What is under way goes on when the caller leaves.
   *
   * @throws (rejects) the reason of the caller's signal, if it has aborted; else StoreError
   */
  async #ask<T>(asking: Omit<Asking<T>, 'limit' | 'leave'> & { readonly limit?: Limit }): Promise<T> {
    const { clock, entropy } = this.#settings
    try {
      return await askStore(
        { store: this.#store, clock, entropy },
        { limit: this.#forLease, leave: this.#leave, ...asking },
      )
    } catch (error) {
      this.#wait.check()
      throw error
    }
  }

  #opened(kept: Result = NOTHING): Result {
    return openKept(kept, this.#settings.key, this.#settings)
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

function lostError(cause: unknown): TransactionError {
  const why = cause === undefined ? 'its connection was lost' : describeError(cause)
  const text = `nothing was committed, the transaction of the function is gone: ${why}`
  return new TransactionError('COMMIT_REFUSED', text, { cause })
}

function conflictError(cause: unknown, runs: number): TransactionError {
  const often = runs === 1 ? 'a run' : `each of ${runs} runs`
  const what = `a deadlock, or a failure to serialize with others, ended the transaction in ${often} of the function`
  return new TransactionError('COMMIT_REFUSED', `nothing was committed: ${what}: ${describeError(cause)}`, { cause })
}

/** The database ended the transaction of this claim through no fault of the function: it may run again. */
function isConflict(claim: Claim): boolean {
  const { transaction } = claim as Partial<TransactionClaim<unknown>>
  return transaction?.lossesInARow !== undefined
}

function grantOf(answer: ClaimAnswer<unknown>, sentAt: number): Granted {
  if (!('claim' in answer)) throw new TypeError('a grant without a claim (once/call.grantOf)')
  return { claim: answer.claim, sentAt, doubt: answer.verdict === 'taken-over' }
}
