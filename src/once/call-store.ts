import type { DeadLetterReason } from '../core/after-claim.ts'
import { isMarked, type Ground } from '../core/after-run.ts'
import type { MarkVerdict, RecordView, Result } from '../core/record.ts'
import { isFailure } from '../core/result.ts'
import type { DurationMs } from '../core/units.ts'
import { faultOfMark, faultOfRelease, faultOfSetAside, faultsOfClaims } from '../execution/store-answers.ts'
import { errorClass, hasCode } from '../foundation/errors.ts'
import type { Claim, ClaimAnswer, ReleaseOptions, Store } from '../ports/store.ts'
import { askStore, type Asking, type Limit } from './ask.ts'
import { busyError, isConflict, lostError, MOST_CONFLICTS, MOST_LOST, type Lost } from './lost.ts'
import type { OnceSettings } from './options.ts'
import { Wait } from './wait.ts'

/** An answer of the store that is on its way when the caller leaves is waited for, for so long. */
const LAST_MS: DurationMs = 100

/** Who has a key is asked for so long, after the deadline of a claim: MySQL waits for a lock for whole seconds. */
const LOOK_MS: DurationMs = 2_000

/** States of a record that keep a claim waiting, or have. */
const OF_ANOTHER: ReadonlySet<RecordView['state']> = new Set(['processing', 'done'])

/** What became of a mark. */
export type Marked =
  | { readonly is: 'marked' }
  /** Another owner has the key. Its answer is the answer of this call too. */
  | { readonly is: 'another-owner' }
  /** Inbox only: effect and mark are rolled back, and nobody else has the key. */
  | ({ readonly is: 'not-committed' } & Lost)

/** The calls of a store for one call of `once`: each is asked until it is answered, or its time is over. */
export class CallStore {
  readonly ground: Ground
  readonly #store: Store<unknown>
  readonly #settings: OnceSettings
  readonly #wait: Wait
  /** A claim that nobody waits for any more was not granted. */
  #onRefused: (() => void) | undefined

  constructor(store: Store<unknown>, settings: OnceSettings, wait: Wait) {
    this.ground = store.strategy === 'lease' ? 'lease' : 'transaction'
    this.#store = store
    this.#settings = settings
    this.#wait = wait
  }

  /** False: the store refused it, because another owner has the key. */
  async setAside(claim: Claim, reason: DeadLetterReason): Promise<boolean> {
    const call = () => this.#store.setAside([claim], 'parked', { reason })
    return (await this.#ask({ operation: 'setAside', call, faultOf: faultOfSetAside })) !== 'refused'
  }

  /**
   * `isAfterRun`: after a run the call is no longer bound by its wait, but it must learn what became of the key. `isBusy`:
   * the last answer was that another owner has it.
   */
  async claim({ isAfterRun, isBusy }: { readonly isAfterRun: boolean; readonly isBusy: boolean }): Promise<{
    readonly answer: ClaimAnswer<unknown>
    readonly sentAt: number
  }> {
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
      ...(!isAfterRun && {
        limit: (giveUp) =>
          this.#wait.onEnd(this.#wait.leftMs, () => {
            isOver = true
            giveUp()
          }),
      }),
      late: (late) => {
        // On an inbox it holds a transaction, and with that a connection.
        if ('claim' in late) void this.release(late.claim, { refund: true, doubt: false })
        else this.#onRefused?.()
      },
    })
    const answer = await asked.catch(async (error: unknown) => {
      const isLate = (isOver || this.#wait.leftMs === 0) && hasCode(error, 'STORE_UNREACHABLE')
      // `isBusy`: the deadline came while the key was asked for once more.
      if (isLate && (isBusy || (error.cause === undefined && (await this.#isHeld())))) throw busyError()
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

  async mark(claim: Claim, kept: Result): Promise<Marked> {
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
      await this.release(claim, { refund: false, doubt: false, cause: errorClass(error) })
      if (!isConflict(claim)) throw error
      return { is: 'not-committed', error, mostRuns: MOST_CONFLICTS }
    }
    if (isMarked(verdict)) return { is: 'marked' }
    // A remembered failure is written after the rollback, when another owner may have the key.
    const isRolledBack = this.ground === 'transaction' && verdict === 'refused-busy' && !isFailure(kept)
    return isRolledBack
      ? { is: 'not-committed', error: lostError(failure), mostRuns: MOST_LOST }
      : { is: 'another-owner' }
  }

  /** The effect of a function that ended too late did happen. */
  async markLate(claim: Claim, kept: Result | undefined): Promise<void> {
    try {
      await this.#store.mark([claim], [kept])
    } catch {
      // The record stays in doubt, as it was.
    }
  }

  async release(claim: Claim, how: ReleaseOptions): Promise<void> {
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
}
