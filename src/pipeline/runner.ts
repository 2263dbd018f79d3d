import type { AfterClaim, DeadLetterReason } from '../core/decision.ts'
import type { Reason, Result } from '../core/record.ts'
import type { DurationMs, EpochMs } from '../core/units.ts'
import type { ResolvedConsumer } from '../resolve-options.ts'
import type { Clock } from '../ports/clock.ts'
import type { Entropy } from '../ports/entropy.ts'
import type { Observer } from '../ports/observer.ts'
import type { RetryLetter } from '../ports/source.ts'
import type { Claim, ClaimAnswer } from '../ports/store.ts'
import type { Apart } from './doubt-queue.ts'
import type { Evidence } from './evidence.ts'
import type { Lanes } from './lanes.ts'
import type { StoreLine } from './store-line.ts'
import type { Task } from './task.ts'

/** Claims, handles and marks what the lanes hold ready. One per strategy of the store. */
export interface Runner {
  /** Something became ready or ended: looks again, once, at the end of this turn of the event loop. */
  wake(): void
  /** The standing of deliveries has changed: partitions revoked, a channel closed. */
  deliveriesLost(): void
  /** The stop deadline has passed: aborts every run. What finishes all the same is still marked. */
  interrupt(reason: Error): void
  /** Gives back what waits outside the lanes; claims nothing more. */
  drain(): void
  /** The stop deadline and its grace are over: nobody waits for a handler any more, and no timer stays. */
  abandon(): void
  /** Handlers past their timeout and deaf to `signal`. */
  readonly stuck: number
  /** What runs apart from all others, which wait for it. */
  readonly apart: Apart | undefined
}

/** What a runner asks of the pipeline. A task that was taken from the lanes ends in exactly one of these. */
export interface Desk {
  readonly consumer: ResolvedConsumer
  readonly scope: string
  readonly clock: Clock
  readonly entropy: Entropy
  readonly lanes: Lanes
  readonly line: StoreLine
  readonly isDraining: boolean
  readonly observe: Observer
  /** Its handler ran, and it is marked: settles its deliveries. */
  handled(task: Task, evidence: Evidence, claim: Claim<unknown>, result?: Result): void
  /** Found to be done; or marked, and not run, for this reason: settles its deliveries. */
  duplicate(
    task: Task,
    evidence: Evidence,
    known: { readonly reason?: Reason; readonly result?: Result | undefined },
  ): void
  /** Not settled and not ours any more: it will be delivered again, here or elsewhere. */
  drop(task: Task, outcome?: 'handed-back' | 'lease-lost'): void
  /** To be claimed again, from the front of its lane. What is not ours any more is dropped. */
  putBack(tasks: readonly Task[], delayMs?: DurationMs): void
  /** Not settled: its stream is read again from what is stored. */
  rewind(task: Task): void
  /** Publishes until confirmed, then settles. The record stays as it is. */
  deadLetter(task: Task, why: DeadLettering): Promise<void>
  /** The same for what a claim has found. */
  deadLetterAgain(task: Task, found: Extract<AfterClaim, { next: 'dead-letter' }>): Promise<void>
  /**
   * Another owner has it, by a lease that ends in `leaseLeftMs`: to be claimed again soon, from the front of its lane. When that
   * has been so for too long it leaves the lane, for a retry place.
   */
  awaitOwner(task: Task, leaseLeftMs: DurationMs): void
  /** How long a message that failed so often waits on a retry place; `undefined`: in its lane. */
  retryDelayMs(attempts: number): DurationMs | undefined
  /** It is not claimed, or not any more: publishes a copy to a retry place until confirmed, then settles. */
  retryLater(task: Task, how: Postponing): Promise<void>
  /**
   * Resolves when the record is written; the dead letter follows by itself, so that one that is not confirmed holds its lane
   * and nothing else. Refused: publishes nothing, and the task is claimed again.
   */
  setAside(task: Task, claim: Claim<unknown>, as: 'given-up' | 'parked', why: SettingAside): Promise<void>
  claim(tasks: readonly Task[], alone: boolean): Promise<ClaimBatch | undefined>
}

export interface DeadLettering {
  readonly reason: Reason
  readonly parked: boolean
  /** In the library's own words, or ending with the text of `error`. */
  readonly detail: string
  /** What was thrown: its text may repeat the message. */
  readonly error?: unknown
  readonly attempts?: number
  /** In place of `error`, of what an earlier delivery met. */
  readonly errorClass?: string | undefined
  /** When its record was set aside; `undefined`: it was not, or nobody knows. */
  readonly setAsideAt?: EpochMs | undefined
  /** Told by the record of an earlier delivery. */
  readonly isRepeated?: true | undefined
  readonly firstFailureAt?: EpochMs | undefined
}

export interface Postponing extends Pick<RetryLetter, 'why' | 'attempts' | 'delayMs'> {
  readonly error?: unknown
}

export interface SettingAside {
  readonly reason: DeadLetterReason
  readonly detail: string
  readonly error?: unknown
  /** Starts of its handler: a claim whose handler did not begin is none. */
  readonly attempts: number
}

export interface ClaimBatch {
  readonly answers: readonly ClaimAnswer<unknown>[]
  /** When the answered request was sent: the lease counts from before that. */
  readonly sentAt: number
  /** What is older, and unknown to the store, may have been forgotten by it. */
  readonly horizon: EpochMs
}
