import type { DurationMs } from './core/units.ts'
import type { PartitionHealth } from './ports/source.ts'

/** Default of `StopOptions.deadlineMs`. */
export const STOP_DEADLINE_MS: DurationMs = 30_000

/** State of a running consumer. `failed`: its start failed, and it does not retry on its own. */
export type LifecycleState = 'idle' | 'starting' | 'running' | 'draining' | 'stopped' | 'failed'

export interface StopOptions {
  /**
   * How long running handlers may go on before `signal` aborts them, in milliseconds. The stop can take longer: aborted
   * handlers have the consumer's `graceMs` (5 s by default) to end, and what they finish in that time is still marked
   * and settled.
   * @defaultValue 30000
   */
  readonly deadlineMs?: DurationMs
}

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

/** A consumer that was started. */
export interface Running extends AsyncDisposable {
  readonly state: LifecycleState
  /**
   * Resolves when the consumer consumes: the store is open and the group or queue is joined. Every call gets the same
   * promise.
   *
   * @throws StoreError, BrokerError or ConfigError if the start failed; nothing is left running
   * @throws StoppedError `STOPPED` if `stop()` came first
   */
  ready(): Promise<void>
  /**
   * Refuses new work, waits for running handlers, aborts those that still run at the deadline, writes the last marks,
   * flushes the last settles and leaves. Idempotent: every call gets the promise of the first. Connections that the
   * user opened stay open.
   *
   * During the start it cancels the start: `ready()` rejects with `STOPPED` and nothing is consumed. It waits up to 5 s
   * for a dial or a join that the client has begun; one that takes longer ends in the background and is closed there.
   *
   * It takes up to `deadlineMs` plus the consumer's `graceMs`, plus the last marks and settles. Set the grace period of
   * your orchestrator above that sum. The default of Kubernetes (`terminationGracePeriodSeconds`, 30 s) is shorter than
   * both defaults together.
   */
  stop(options?: StopOptions): Promise<void>
  health(): Health
}

/**
 * The result of a start: a handle whose `health()` and `stop()` work at once, and a promise of the same consumer;
 * `await` does the same as `ready()`. If the start fails and nobody awaits it, there is no unhandled rejection:
 * `health()` and the event `start-failed` report it. Refused options do cause an unhandled rejection.
 */
export interface Starting extends Running, Promise<Running> {}
