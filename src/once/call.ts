import { backoffMs } from '../core/backoff.ts'
import { afterClaim, type DeadLetterReason, type Policy } from '../core/after-claim.ts'
import { afterRun } from '../core/after-run.ts'
import type { Result } from '../core/record.ts'
import { resultOf } from '../core/result.ts'
import { openKept, remember, type Keeping, type KeepingTold } from '../execution/kept.ts'
import type { RunEnd } from '../execution/run-end.ts'
import { OnceError, StoreError, errorClass } from '../foundation/errors.ts'
import type { Claim, ClaimAnswer, Store } from '../ports/store.ts'
import { CallStore } from './call-store.ts'
import { busyError, conflictError, isConflict, LostRun, MOST_CONFLICTS, MOST_LOST, type Lost } from './lost.ts'
import type { OnceSettings } from './options.ts'
import { OnceRun, type Granted, type OnceDeadlines, type OnceEnd, type RunContext } from './run.ts'
import type { Turn, Turns } from './turns.ts'
import type { Wait } from './wait.ts'

/** How often a claim is repeated while another process is busy with the key. */
const POLL = { initialMs: 50, maxMs: 1_000 }

/** Pauses before the function runs again, because nothing of its last run was committed. */
const RERUN = { initialMs: 20, maxMs: 1_000 }

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

/** One call that no other call of this process waits for: claim, run, mark. */
export class Call {
  readonly #store: CallStore
  readonly #given: Store<unknown>
  readonly #deadlines: OnceDeadlines
  readonly #settings: OnceSettings
  readonly #work: OnceWork
  readonly #wait: Wait
  readonly #policy: Policy
  readonly #keeping: Keeping
  #isBusy = false
  #lostRuns = 0
  #lost: Lost | undefined
  readonly #turns: Turns
  #turn: Turn | undefined

  constructor({ store, deadlines, settings, work, wait, turns }: CallParts) {
    this.#store = new CallStore(store, settings, wait)
    this.#given = store
    this.#deadlines = deadlines
    this.#settings = settings
    this.#work = work
    this.#wait = wait
    this.#turns = turns
    const { rememberFailure, maxResultBytes, sealResult } = settings
    this.#keeping = { rememberResult: true, rememberFailure, maxResultBytes, sealResult }
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
      const { answer, sentAt } = await this.#store.claim({ isAfterRun: this.#lost !== undefined, isBusy: this.#isBusy })
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
    await this.#store.release(granted.claim, { refund: true, doubt: false })
    signal?.throwIfAborted()
    if (isTooLate) throw this.#lost?.error
    return undefined
  }

  async #run(granted: Granted): Promise<Answered | undefined> {
    const { claim } = granted
    const run = this.#runOf(granted)
    try {
      const end = await run.start(
        (context) => this.#work(context, claim),
        (late) => this.#endedLate(claim, late),
      )
      return await this.#ended(granted, end)
    } finally {
      run.close()
    }
  }

  #runOf(granted: Granted): OnceRun {
    return new OnceRun({ deadlines: this.#deadlines, settings: this.#settings, granted, store: this.#given })
  }

  async #ended({ claim, doubt: wasInDoubt }: Granted, how: OnceEnd): Promise<Answered | undefined> {
    const { isStuck, isAborted } = how
    // A conflict of transactions is no answer of the function, whatever it made of the error.
    if ((how.result === 'failed' || how.result === 'later' || how.result === 'fatal') && isConflict(claim)) {
      await this.#store.release(claim, { refund: true, doubt: false, cause: errorClass(how.error) })
      return this.#again({ error: how.error, mostRuns: MOST_CONFLICTS })
    }
    const end = this.#remembered(how, isAborted)
    const { result, error, kept } = end
    const step = afterRun(
      // The caller decides what follows a failure.
      {
        ...ONE_RUN,
        result: result === 'fatal' || result === 'later' ? 'failed' : result,
        attempt: claim.attempt,
        doubt: wasInDoubt,
      },
      this.#store.ground,
      this.#policy,
    )
    if (step.next === 'mark' && kept !== undefined)
      return this.#marked(claim, kept, 'error' in end ? { error } : undefined)
    if (step.next === 'set-aside') await this.#store.setAside(claim, step.reason)
    // A function that may still run keeps its lease until that ends.
    else if (!isStuck || this.#store.ground !== 'lease') {
      const doubt = step.next === 'rerun-in-doubt' // mutant: once-forgets-doubt
      await this.#store.release(claim, { refund: false, doubt, cause: errorClass(error) })
    }
    throw error
  }

  /** Nobody waits for it any more. A transaction was rolled back by then. */
  #endedLate(claim: Claim, how: RunEnd): void {
    if (this.#store.ground !== 'lease' || how.result !== 'handled') return
    void this.#store.markLate(claim, this.#remembered(how, false).kept)
  }

  #remembered(end: RunEnd, isAborted: boolean): RunEnd {
    const run = { key: this.#settings.key, isAborted, isInTransaction: this.#store.ground !== 'lease' }
    return remember(end, run, this.#keeping, UNTOLD)
  }

  /** `thrown`: the function threw it, or its result cannot be kept; it is kept as the answer. */
  async #marked(claim: Claim, kept: Result, thrown: Answered['thrown']): Promise<Answered | undefined> {
    const marked = await this.#store.mark(claim, kept)
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
    const run = this.#runOf(granted)
    try {
      const end = await run.start(
        () => reconcile?.(idempotencyKey),
        () => {},
      )
      const { value } = end
      if (end.result !== 'handled') {
        if (!end.isStuck) await this.#store.release(claim, { refund: true, doubt: true, cause: errorClass(end.error) })
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
    if (await this.#store.setAside(claim, reason)) throw setAside(reason, 'an earlier run ended without a known end')
    return undefined
  }

  #opened(kept: Result = NOTHING): Result {
    return openKept(kept, this.#settings.key, this.#settings)
  }
}

function grantOf(answer: ClaimAnswer<unknown>, sentAt: number): Granted {
  if (!('claim' in answer)) throw new TypeError('a grant without a claim (once/call.grantOf)')
  return { claim: answer.claim, sentAt, doubt: answer.verdict === 'taken-over' }
}

function setAside(reason: string, detail: string): OnceError {
  return new OnceError(
    'ONCE_SET_ASIDE',
    `this key is set aside (${reason}): ${detail}; a person must decide about it`,
    reason,
  )
}
