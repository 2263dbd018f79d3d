import type { DurationMs } from './core/units.ts'
import type { PartitionHealth } from './ports/source.ts'

/** How long running handlers may go on after `stop()`. */
export const STOP_DEADLINE_MS: DurationMs = 30_000

/** Where a running consumer is in its life. `failed`: its start failed, and it will not go on by itself. */
export type LifecycleState = 'idle' | 'starting' | 'running' | 'draining' | 'stopped' | 'failed'

export interface StopOptions {
  /**
   * How long running handlers may go on before `signal` aborts them. Not how long the stop takes: after it they have the
   * consumer's `graceMs` (5 s unless set) to end, and what ends in that is still marked and settled. @defaultValue 30000
   */
  readonly deadlineMs?: DurationMs
}

export interface Health {
  /** False only where a restart would help: failed, or a handler that is past its timeout and deaf to `signal`. */
  readonly live: boolean
  /**
   * False while paused, rebalancing, reconnecting, or while the store is down; and where all waits for more than 4 s for a message in its
   * last attempt, which may be what killed a process (`checks.handlers` says so).
   */
  readonly ready: boolean
  readonly state: LifecycleState
  readonly checks: Readonly<Record<string, string>>
  /** How far each assigned partition is, where the source has partitions. For gauges: read it when they are scraped. */
  readonly partitions: readonly PartitionHealth[]
  /**
   * How often something happened since the start, by the name of its `source` event: `commit-refused`, `rebuilt`, ... `settled-without-run`:
   * deliveries of messages that were done, or were handled for another delivery: the handler was spared them.
   */
  readonly counts: Readonly<Record<string, number>>
}

/** A consumer that was started. */
export interface Running extends AsyncDisposable {
  readonly state: LifecycleState
  /**
   * Resolves when it consumes: the store is open, the group or queue joined. Every call gets the same answer.
   *
   * @throws StoreError, BrokerError or ConfigError why the start failed; nothing is left running then
   * @throws StoppedError `STOPPED`: `stop()` came first
   */
  ready(): Promise<void>
  /**
   * Refuses new work, drains, aborts what still runs at the deadline, writes the last marks, flushes the last settles, then
   * leaves. Idempotent: every call gets the first one's promise. What the user opened stays open.
   *
   * While it starts, this cancels the start: `ready()` rejects with `STOPPED`, and nothing is consumed. What a client has under
   * way then (a dial, a join) is waited for up to 5 s; what takes longer ends in the background, and is closed there.
   *
   * Takes up to `deadlineMs`, plus the consumer's `graceMs`, plus the last marks and settles. Set the orchestrator's grace period
   * above that sum: Kubernetes kills after 30 s (`terminationGracePeriodSeconds`), which is less than with both defaults.
   */
  stop(options?: StopOptions): Promise<void>
  health(): Health
}

/**
 * What a start returns: a handle at once, whose `health()` and `stop()` work from the first moment, and a promise of the same
 * consumer for whoever wants to wait: `await` does what `ready()` does. A start that fails while nobody waits is no unhandled
 * rejection: `health()` and the event `start-failed` tell it. Options that are refused are one.
 */
export interface Starting extends Running, Promise<Running> {}
