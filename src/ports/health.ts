import type { PartitionHealth } from './source.ts'

/** State of a running consumer. `failed`: its start failed, and it does not retry on its own. */
export type LifecycleState = 'idle' | 'starting' | 'running' | 'draining' | 'stopped' | 'failed'

export interface Health {
  /** False only if a restart would help: the start failed, or a handler is past its timeout and ignores `signal`. */
  readonly live: boolean
  /**
   * False while the source is paused, rebalancing or reconnecting, and while the store is down. Also false when
   * everything has waited for more than 4 s for a message in its last attempt, which may have killed a process before
   * (see `checks.handlers`).
   */
  readonly ready: boolean
  readonly state: LifecycleState
  readonly checks: Readonly<Record<string, string>>
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
