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

/** Claims, handles and marks ready tasks. There is one runner for each strategy of the store. */
export interface Runner {
  /** A task became ready, or a run ended: checks for work once, at the end of this turn of the event loop. */
  wake(): void
  /** The standing of deliveries has changed: partitions were revoked or a channel closed. */
  deliveriesLost(): void
  /** The stop deadline has passed: aborts every run. A run that still finishes is marked. */
  interrupt(reason: Error): void
  /** Gives back tasks that wait outside the lanes, and claims nothing more. */
  drain(): void
  /** The stop deadline and its grace are over: stops waiting for handlers, and leaves no timer. */
  abandon(): void
  /** Handlers that are past their timeout and ignore `signal`. */
  readonly stuck: number
  /** The group that runs apart from all others, which wait for it. */
  readonly apart: Apart | undefined
}

/**
 * The services of the pipeline for a runner. A task that was taken from the lanes ends in exactly one of these calls.
 */
export interface Desk {
  readonly consumer: ResolvedConsumer
  readonly scope: string
  readonly clock: Clock
  readonly entropy: Entropy
  readonly lanes: Lanes
  readonly line: StoreLine
  readonly isDraining: boolean
  readonly observe: Observer
  /** The handler ran and the message is marked: settles its deliveries. */
  handled(task: Task, evidence: Evidence, claim: Claim, result?: Result): void
  /** The message was done, or was marked without a run for this reason: settles its deliveries. */
  duplicate(
    task: Task,
    evidence: Evidence,
    known: { readonly reason?: Reason; readonly result?: Result | undefined },
  ): void
  /** Not settled and no longer ours: the broker delivers it again, here or elsewhere. */
  drop(task: Task, outcome?: 'handed-back' | 'lease-lost'): void
  /** Puts tasks back to the front of their lanes, to be claimed again. A task that is no longer ours is dropped. */
  putBack(tasks: readonly Task[], delayMs?: DurationMs): void
  /** Not settled: its stream is read again from the stored position. */
  rewind(task: Task): void
  /** Publishes the dead letter until it is confirmed, then settles. The record stays as it is. */
  deadLetter(task: Task, why: DeadLettering): Promise<void>
  /** The same, for a record that a claim found set aside. */
  deadLetterAgain(task: Task, found: Extract<AfterClaim, { next: 'dead-letter' }>): Promise<void>
  /**
   * Another owner has the message, under a lease that ends in `leaseLeftMs`. The task is claimed again soon, from the
   * front of its lane. If this lasts too long, the message goes to a retry place.
   */
  awaitOwner(task: Task, leaseLeftMs: DurationMs): void
  /** How long a message with this many failed attempts waits in a retry place; `undefined`: it waits in its lane. */
  retryDelayMs(attempts: number): DurationMs | undefined
  /**
   * The message is not claimed, or no longer: publishes a copy to a retry place until it is confirmed, then settles.
   */
  retryLater(task: Task, how: Postponing): Promise<void>
  /**
   * Resolves when the record is written. The dead letter is published after that: if it is not confirmed, only its own
   * lane waits. If the store refuses, nothing is published and the task is claimed again.
   */
  setAside(task: Task, claim: Claim, as: 'given-up' | 'parked', why: SettingAside): Promise<void>
  claim(tasks: readonly Task[], alone: boolean): Promise<ClaimBatch | undefined>
}

export interface DeadLettering {
  readonly reason: Reason
  readonly parked: boolean
  /** The library's own words, or a text that ends with the text of `error`. */
  readonly detail: string
  /** The thrown value. Its text may repeat the message. */
  readonly error?: unknown
  readonly attempts?: number
  /** Instead of `error`, for a failure of an earlier delivery. */
  readonly errorClass?: string | undefined
  /** When its record was set aside; `undefined` if it was not, or if the time is unknown. */
  readonly setAsideAt?: EpochMs | undefined
  /** The record of an earlier delivery says so. */
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
  /** Starts of its handler. A claim whose handler did not begin does not count. */
  readonly attempts: number
}

export interface ClaimBatch {
  readonly answers: readonly ClaimAnswer<unknown>[]
  /** When the request was sent. The lease counts from before that. */
  readonly sentAt: number
  /** A message that is older than this and has no record may have been handled, and its record removed. */
  readonly horizon: EpochMs
}
