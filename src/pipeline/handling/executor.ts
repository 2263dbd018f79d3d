import type { MonotonicMs } from '../../core/units.ts'
import { Deadlines } from '../../execution/deadlines.ts'
import type { TimedRun } from '../../execution/timed-run.ts'
import { LeaseLostError } from '../../foundation/errors.ts'
import type { Services } from '../services.ts'
import type { HandlerRun, OnEnd, RunEnd, RunItem } from './handler-run.ts'
import { remember, remembers } from './remember.ts'
import { tracedBy } from './traces.ts'

/**
 * Runs the handlers of a consumer, whether a lease, a transaction or nothing protects them: with one timer for all time
 * limits and leases, and with their traces and counts.
 */
export class Executor {
  readonly deadlines: Deadlines<RunItem>
  readonly #services: Services
  readonly #remembers: boolean
  readonly #stuck = new Set<TimedRun>()

  constructor(services: Services) {
    this.#services = services
    this.#remembers = remembers(services.consumer)
    this.deadlines = new Deadlines(services)
  }

  /** Functions that are past their timeout and ignore `signal`. */
  get stuck(): number {
    return this.#stuck.size
  }

  /** Calls `onEnd` once, later, with what `ended` is then called with. */
  begin(run: HandlerRun, tx: unknown, now: MonotonicMs, onEnd: OnEnd): void {
    const { consumer, traces } = this.#services
    run.begin(now)
    this.deadlines.keep(run.held, run)
    traces?.begin(run)
    run.start(consumer, tx, onEnd)
  }

  /** A handler has ended, in time or late: computes what is kept of it, and tells. */
  ended(run: HandlerRun, how: RunEnd): RunEnd {
    this.#stuck.delete(run)
    const end = this.#remembers ? remember(run, how, this.#services) : how
    const { isHeard, isEachHeard, traces, clock, observe, counts, consumer } = this.#services
    traces?.handled(run, end)
    const { items } = run
    // For the outcome, if this run is marked. A message that runs again may be handled then.
    if (run.state === 'ended') for (const { task } of items) task.skipped = end.skipped
    if (!isHeard) return end
    const durationMs = run.ranMs(clock.monotonic())
    for (const { task } of items) task.handlerMs = durationMs
    counts.ran(end.result, durationMs)
    const { name } = consumer
    if (isEachHeard) {
      observe({ type: 'handler-run', consumer: name, result: end.result, count: items.length, durationMs })
    }
    return end
  }

  /** A function that is no handler has ended. Returns `false` if it is late: its tasks went on without it. */
  isInTime(run: TimedRun): boolean {
    run.end()
    this.#stuck.delete(run)
    return run.state === 'ended'
  }

  /** Nobody waits for this run any more. Its tasks go on without it, and `health()` says that a restart would help. */
  letGo(run: TimedRun, items: readonly RunItem[]): void {
    if (!run.abandon()) return
    this.#stuck.add(run)
    for (const { task, claim } of items) {
      const { key, message } = task
      this.#services.observe({ type: 'stuck', key, message, attempt: claim.attempt, ...tracedBy(task) })
    }
  }

  /** Partitions were revoked, or a channel closed: aborts what runs only for deliveries that are gone. */
  deliveriesLost(): void {
    const reason = new LeaseLostError('DELIVERY_LOST', 'its partition or channel is gone')
    this.deadlines.abort(reason, (items) => items.every(({ task }) => task.isLost))
  }

  /** Stops waiting for all runs, lets leases run out, and leaves no timer. */
  abandon(): void {
    for (const { run, items } of this.deadlines.all) if (run !== undefined) this.letGo(run, items)
    this.deadlines.close()
  }
}
