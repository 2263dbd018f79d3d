import type { DurationMs } from '../core/units.ts'
import type { Health, LifecycleState } from './health.ts'

export interface StopOptions {
  /**
   * How long running handlers may go on before `signal` aborts them, in milliseconds. The stop can take longer: aborted
   * handlers have the consumer's `graceMs` (5 s by default) to end, and what they finish in that time is still marked
   * and settled. A whole number from 0 (abort at once) to 2147483647, or `Infinity`: never.
   * @defaultValue 30000
   */
  readonly deadlineMs?: DurationMs
}

/** Who pauses or resumes a consumer, and why: for the log, the events and `health()`. */
export interface PauseOptions {
  /** 1 to 200 characters. @defaultValue nobody is named */
  readonly by?: string
  /** 1 to 1000 characters. No payload, no secret. @defaultValue none is told */
  readonly reason?: string
}

/** What can be paused. */
export interface Pausable {
  /**
   * Begins no further message until `resume()`. Handlers that run go on, and what they finish is marked and settled;
   * their leases are renewed. The consumer stays in its group or on its queue, and fetches nothing, also of partitions that
   * it gets later. `health().state` is `paused` and `ready` false; it is neither stalled nor not `live`.
   *
   * Only this process is paused, and only until it ends: others take what it leaves. Messages that it has fetched wait
   * here. RabbitMQ takes them back after its `consumer_timeout` (30 minutes by default) and delivers them again.
   * Idempotent; does nothing after `stop()`.
   *
   * @throws ConfigError `CONFIG_INVALID` if `by` or `reason` is not such a text
   */
  pause(why?: PauseOptions): void
  /** Goes on after `pause()`, or while it holds (option `hold`). Idempotent; `why` is checked as that of `pause()`. */
  resume(why?: PauseOptions): void
}

/**
 * How a start ended that did not fail. `ready`: the consumer consumes. `stopped`: `stop()` was called before it
 * consumed, and nothing is consumed. A stop that somebody asked for is no failure, so it rejects no promise of a start.
 */
export type StartResult = 'ready' | 'stopped'

/** A consumer that was started. */
export interface Running extends Pausable, AsyncDisposable {
  readonly state: LifecycleState
  /**
   * Resolves with `ready` when the consumer consumes: the store is open and the group or queue is joined. Resolves with
   * `stopped` as soon as `stop()` is called before that. It tells how the start ended, so a later `stop()` does not
   * change it; `state` and `health()` tell what the consumer does now. Every call gets the same result.
   *
   * @throws StoreError, BrokerError or ConfigError if the start failed before `stop()` was called; nothing is left
   * running
   */
  ready(): Promise<StartResult>
  /**
   * Refuses new work, waits for running handlers, aborts those that still run at the deadline, writes the last marks,
   * flushes the last settles and leaves. Idempotent: every call gets the promise of the first. Connections that the
   * user opened stay open.
   *
   * During the start it cancels the start: `ready()` resolves with `stopped` and nothing is consumed. It waits up to 5 s
   * for a dial or a join that the client has begun; one that takes longer ends in the background and is closed there. If
   * the start then fails, the event `start-cancelled` has the cause, and no promise rejects.
   *
   * It takes up to `deadlineMs` plus the consumer's `graceMs`, plus the last marks and settles. Set the grace period of
   * your orchestrator above that sum. The default of Kubernetes (`terminationGracePeriodSeconds`, 30 s) is shorter than
   * both defaults together.
   *
   * @throws (rejects) ConfigError `CONFIG_INVALID` for wrong options; nothing is stopped then
   */
  stop(options?: StopOptions): Promise<void>
  health(): Health
}

/**
 * What a start returns: a handle whose `health()` and `stop()` work at once, and a promise of the same consumer. To
 * `await` it waits as `ready()` does, and gives the consumer: after a stop during the start its `state` is `draining` or
 * `stopped`. If the start fails and nobody awaits it, there is no unhandled rejection: `health()` and the event
 * `start-failed` report it. Refused options do cause an unhandled rejection.
 */
export interface Starting extends Running, Promise<Running> {}
