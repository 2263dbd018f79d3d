import { withTrace } from '../../core/result.ts'
import type { Result } from '../../core/record.ts'
import type { EpochMs } from '../../core/units.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Delivery } from '../../ports/source.ts'
import type { Outcome } from '../../ports/outcome.ts'
import type { PipelineEvent } from '../../ports/observer.ts'
import type {
  DeliveryTrace,
  RunTrace,
  TracedConsumer,
  TracedError,
  TracedResult,
  TracedSteps,
  Tracing,
} from '../../ports/tracing.ts'
import type { RunEnd } from '../../execution/run-end.ts'
import type { HandlerRun, RunItem } from './handler-run.ts'
import { loggedError } from '../telemetry/logged-error.ts'
import type { Task } from '../task.ts'

type DeliveryEvent = Extract<PipelineEvent, { type: 'delivery' }>

/** A delivery that ends. */
interface Ending {
  readonly delivery: Delivery
  /** The task of which it was the first delivery, or that it had joined. `undefined`: it has no usable ID. */
  readonly task: Task | undefined
  readonly outcome: Outcome
  readonly told: Pick<DeliveryEvent, 'key' | 'reason' | 'firstTrace'>
}

/** Outcomes that are a span without a run. The others say only that the message comes again. */
const WITHOUT_RUN: ReadonlySet<Outcome> = new Set(['duplicate', 'joined', 'dead-lettered', 'parked'])
const NO_STEPS: TracedSteps = {}

/** Tells the consumer's tracing of runs and deliveries. What it throws stays its own. */
export class Traces {
  readonly #tracing: Tracing
  readonly #consumer: TracedConsumer
  readonly #clock: Clock
  /** What `ambient()` said of deliveries that are not identified yet. */
  readonly #ambient = new WeakMap<Delivery, unknown>()

  constructor(tracing: Tracing, consumer: TracedConsumer, clock: Clock) {
    this.#tracing = tracing
    this.#consumer = consumer
    this.#clock = clock
  }

  /** Notes the contexts of these deliveries, then runs `work` outside of them. */
  arriving(deliveries: readonly Delivery[], work: () => void): void {
    for (const delivery of deliveries) {
      const { within } = delivery
      // Those of `runKafka` have none.
      if (within === undefined) continue
      const ambient = quietly(() => within(() => this.#tracing.ambient()))
      if (ambient !== undefined) this.#ambient.set(delivery, ambient)
    }
    this.#tracing.outside(work)
  }

  arrived(task: Task): void {
    task.ambient = this.#ambient.get(task.first)
  }

  begin(run: HandlerRun): void {
    const { items } = run
    if (!isSome(items)) return
    const at = (): EpochMs => (items[0].task.claimCall?.from ?? run.startedAt) + this.#offset
    let trace: RunTrace | undefined
    // Not `quietly`, which makes one more function for each message.
    try {
      trace = this.#tracing.begin({ consumer: this.#consumer, items, at })
    } catch {
      return
    }
    if (trace === undefined) return
    run.trace = trace
    for (const { task } of items) task.trace = trace
  }

  handled({ trace, items }: HandlerRun, { result, error }: RunEnd): void {
    if (trace?.isRecorded !== true) return
    quietly(() => trace.handled({ result, error: errorOf(items, result, error) }))
  }

  /** The message runs again: its last run is over. */
  again(task: Task): void {
    const { trace } = task
    task.trace = undefined
    if (trace?.isRecorded !== true) return
    this.#ending(trace, task, { outcome: undefined })
    this.ended(trace, false)
  }

  /** To be called before the delivery is settled; `ended` follows. `undefined`: it is not sampled. */
  ending({ delivery, task, outcome, told }: Ending): DeliveryTrace | undefined {
    const trace = task?.trace
    const isFirst = task?.first === delivery
    if (isFirst && trace !== undefined) {
      if (!trace.isRecorded) return undefined
      this.#ending(trace, task, { outcome, reason: told.reason })
      return trace
    }
    if (!WITHOUT_RUN.has(outcome)) return undefined
    const { key, reason, firstTrace } = told
    const known = isFirst ? task : undefined
    return quietly(() =>
      this.#tracing.ending({
        consumer: this.#consumer,
        message: delivery.message,
        key,
        ambient: isFirst ? task.ambient : this.#ambient.get(delivery),
        outcome,
        reason,
        steps: () => this.#steps(known),
        from: () => (known?.claimCall?.from ?? this.#clock.monotonic()) + this.#offset,
        runTrace: isFirst ? firstTrace : trace?.traceparent,
      }),
    )
  }

  ended(trace: DeliveryTrace, isRefused: boolean): void {
    quietly(() => trace.ended(this.#clock.now(), isRefused))
  }

  #ending(
    trace: RunTrace,
    task: Task,
    how: Pick<DeliveryEvent, 'reason'> & { readonly outcome: Outcome | undefined },
  ): void {
    quietly(() => trace.ending({ ...how, steps: () => this.#steps(task) }))
  }

  #steps(task: Task | undefined): TracedSteps {
    return task?.steps(this.#clock.monotonic(), this.#offset) ?? NO_STEPS
  }

  /** Spans need the wall clock, and durations must not jump with it. */
  get #offset(): EpochMs {
    return this.#clock.now() - this.#clock.monotonic()
  }
}

/** What is kept with the mark of a message: its result, and the trace of its run if that is sampled. */
export function keptWithTrace(kept: Result | undefined, trace: RunTrace | undefined): Result | undefined {
  return trace?.traceparent === undefined ? kept : withTrace(kept, trace.traceparent)
}

/** For events: the trace of its last run, if that is sampled. */
export function tracedBy({ trace }: Task): { readonly trace?: string } {
  return trace?.traceparent === undefined ? {} : { trace: trace.traceparent }
}

/** An instrumentation writes the trace of a copy into its headers: a copy belongs to the run before it. */
export function inTraceOf<T>({ trace }: Task, work: () => T): T {
  return trace === undefined ? work() : trace.run(work)
}

function errorOf(items: readonly RunItem[], result: TracedResult['result'], error: unknown): TracedError | undefined {
  if (result === 'handled') return undefined
  // A batch has no message that its error is about, so nothing would be removed from the text.
  const [first, ...others] = items
  const { type, message } = loggedError(error, first?.task.message) as TracedError
  return { type, message: others.length === 0 ? message : '' }
}

function isSome<T>(items: readonly T[]): items is readonly [T, ...T[]] {
  return items.length > 0
}

function quietly<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
