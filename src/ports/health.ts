import type { DurationMs } from '../core/units.ts'
import type { PartitionHealth } from './source.ts'

/** State of a running consumer. */
export type LifecycleState =
  | 'idle'
  | 'starting'
  | 'running'
  /**
   * Running, but a partition or queue has work in which nobody makes progress. `checks.progress` says which. Often its
   * dead letters are not confirmed, or its handlers wait for something that never comes.
   */
  | 'stalled'
  /** A person has paused it: nothing is fetched and nothing begins until it is resumed. `checks.source` says who and why. */
  | 'paused'
  /**
   * Nothing but final failures came through, so it holds (option `hold`): one message is tried from time to time, and
   * the first that is handled ends it. `checks.hold` says why and what to do.
   */
  | 'holding'
  | 'draining'
  | 'stopped'
  /** Its start failed, and it does not retry on its own. */
  | 'failed'

export interface Health {
  /** Name of the consumer. */
  readonly consumer: string
  /** False only if a restart would help: the start failed, or a handler is past its timeout and ignores `signal`. */
  readonly live: boolean
  /**
   * False while the source is paused, rebalancing or reconnecting, while the store is down, while messages wait because
   * their payload cannot be decoded now (`checks.decode` says why), while a shared limiter does not answer (`checks.limit`), and while `state` is `stalled`, `paused` or
   * `holding`. Also false when everything has waited for more than 4 s for a message in its last attempt, which may have killed a process before
   * (see `checks.handlers`).
   */
  readonly ready: boolean
  readonly state: LifecycleState
  readonly checks: Readonly<Record<string, string>>
  /** Deliveries taken from the broker and not ended. */
  readonly inFlight: number
  /** Messages that are claimed, or being claimed, and not marked or given back. */
  readonly claimed: number
  /** How many may be claimed at once: `concurrency`, or `transactions` times `batchSize` where the store has the transaction. */
  readonly slots: number
  /** Messages that wait for a permit of the option `limit`, before their claim. `undefined`: it has no limit. */
  readonly limited?: number | undefined
  /** How long ago the oldest of them arrived in this process, in milliseconds; 0 if none waits. `undefined`: it has no limit. */
  readonly oldestLimitedMs?: DurationMs | undefined
  /** How long ago the oldest unfinished message arrived in this process, in milliseconds; 0 if there is none. */
  readonly oldestUnfinishedMs: DurationMs
  /**
   * Progress of each assigned partition, if the source has partitions. Made for gauges: read it when they are scraped.
   */
  readonly partitions: readonly PartitionHealth[]
  /**
   * How often each `source` event happened since the start, by its name: `commit-refused`, `rebuilt`, ...
   * `settled-without-run` counts the deliveries that were settled without a run of the handler, because their message
   * was done or was handled for another delivery.
   */
  readonly counts: Readonly<Record<string, number>>
}
