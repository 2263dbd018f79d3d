import {
  ROOT_CONTEXT,
  SpanKind,
  context,
  trace,
  type Context,
  type Link,
  type Span,
  type SpanOptions,
  type Tracer,
} from '@opentelemetry/api'
import {
  having,
  oneOf,
  optionsOf,
  or,
  where,
  type DeliveryTrace,
  type Message,
  type RunTrace,
  type Table,
  type TracedDelivery,
  type TracedStart,
  type Tracing,
} from '../../src/internal.ts'
import { ambientSpan, isProcessSpan, isReceiveSpan, quiet } from './ambient.ts'
import { attributesOfMessage, attributesOfRun, attributesOfStart } from './attributes.ts'
import { parseTraceparent, producerOf } from './producer.ts'
import { RecordedDelivery, RecordedRun, addSteps, isError, setError } from './runs.ts'
import { UnsampledRun } from './unsampled.ts'

export interface OtelTracingOptions {
  /** @defaultValue the tracer `consume-once` of the global tracer provider */
  readonly tracer?: Tracer
  /**
   * How the span of a message refers to the trace of its producer, which the message carries in `traceparent` or what
   * else the global propagator reads. `link`: the message starts a trace of its own, sampled on its own. `parent`: it
   * continues the trace of the producer, and the producer's decision about sampling holds. A batch always links.
   * @defaultValue `link`
   */
  readonly producerContext?: 'link' | 'parent'
  /**
   * Share of the traces beginning here that the tracer is asked for, from 0 to 1. Its sampler decides about those. The
   * others are not sampled, and cost less. For a consumer of many thousand messages per second. A message that belongs
   * to a trace already, by an instrumentation or by `producerContext: 'parent'`, keeps the decision of that trace.
   * @defaultValue 1
   */
  readonly ratio?: number
}

const TRACING: Table<OtelTracingOptions, 'tracer'> = {
  tracer: having('a Tracer of @opentelemetry/api', 'startSpan'),
  producerContext: or('link', oneOf('link', 'parent')),
  ratio: or(
    1,
    where('a number from 0 to 1', (ratio) => typeof ratio === 'number' && ratio >= 0 && ratio <= 1),
  ),
}

/**
 * The option `trace` of a consumer: spans by the OpenTelemetry messaging conventions, with your own
 * `@opentelemetry/api`. Each run of the handler is a CONSUMER span `process {destination}`, unless an instrumentation of
 * the client already made one for the message; then that one gets the attributes. The handler runs in its context.
 *
 * @throws ConfigError `CONFIG_INVALID`
 */
export function otelTracing(options: OtelTracingOptions = {}): Tracing {
  const { tracer, producerContext, ratio } = optionsOf('otelTracing', TRACING, options)
  return new OtelTracing(tracer ?? trace.getTracer('consume-once'), { isChild: producerContext === 'parent', ratio })
}

/** Where a new span belongs. */
interface Place {
  readonly parent: Context
  /** What the handler finds in its context beside the span: baggage. */
  readonly base: Context
  readonly links: Link[]
  readonly kind: SpanKind
}

class OtelTracing implements Tracing {
  readonly #tracer: Tracer
  readonly #isChild: boolean
  readonly #ratio: number

  constructor(tracer: Tracer, { isChild, ratio }: { readonly isChild: boolean; readonly ratio: number }) {
    this.#tracer = tracer
    this.#isChild = isChild
    this.#ratio = ratio
  }

  outside<T>(work: () => T, how?: { readonly quiet: true }): T {
    return context.with(how?.quiet ? quiet(ROOT_CONTEXT) : ROOT_CONTEXT, work)
  }

  ambient(): Span | undefined {
    return ambientSpan()
  }

  begin(start: TracedStart): RunTrace {
    const { items, at } = start
    const [{ task }] = items
    const { message } = task
    const ambient = task.ambient as Span | undefined
    const isBatch = items.length > 1
    if (!isBatch && ambient !== undefined) {
      // Its instrumentation has decided not to sample it, and everything in it is not sampled either.
      if (!ambient.isRecording()) return new UnsampledRun(message, ambient)
      if (isProcessSpan(ambient, message.destination)) {
        ambient.setAttributes(attributesOfRun(start.consumer, items))
        return new RecordedRun(this.#tracer, { span: ambient, isOwn: false, base: producerOf(message), count: 1 })
      }
    }
    const only = isBatch ? undefined : message
    if ((isBatch || ambient === undefined) && this.#isLeftOut(only)) return new UnsampledRun(only)
    const place = isBatch ? batchPlace(items.map((item) => item.task.message)) : this.#placeOf(message, ambient)
    const span = this.#start(message, place, at())
    if (!span.isRecording()) return new UnsampledRun(only, span)
    if (isBatch) span.setAttribute('messaging.batch.message_count', items.length)
    else span.setAttributes(attributesOfMessage(message, start.consumer.group))
    span.setAttributes(attributesOfRun(start.consumer, items))
    return new RecordedRun(this.#tracer, { span, isOwn: true, base: place.base, count: items.length })
  }

  ending(end: TracedDelivery): DeliveryTrace | undefined {
    const { message, consumer, outcome, runTrace, steps } = end
    const ambient = end.ambient as Span | undefined
    if (ambient !== undefined ? !ambient.isRecording() : this.#isLeftOut(message)) return undefined
    const isOwn = ambient === undefined || !isProcessSpan(ambient, message.destination)
    const run = runTrace === undefined ? undefined : parseTraceparent(runTrace)
    const links = run === undefined ? [] : [{ context: run, attributes: { 'consume_once.link': 'run' } }]
    let span = ambient
    if (span === undefined || isOwn) {
      const place = this.#placeOf(message, ambient)
      span = this.#start(message, { ...place, links: [...place.links, ...links] }, end.from())
      if (!span.isRecording()) return undefined
      span.setAttributes(attributesOfMessage(message, consumer.group))
    } else span.addLinks?.(links)
    span.setAttributes(attributesOfStart(consumer, message, end.key))
    span.setAttribute('consume_once.outcome', outcome)
    if (end.reason !== undefined) span.setAttribute('consume_once.reason', end.reason)
    if (isError(outcome)) setError(span, { type: end.reason ?? outcome, message: '' })
    addSteps(this.#tracer, span, steps(), outcome)
    return new RecordedDelivery(span, isOwn)
  }

  /** The tracer is not asked for this trace: it would begin here. `undefined`: a batch, which belongs to no trace. */
  #isLeftOut(message: Message | undefined): boolean {
    if (this.#ratio === 1) return false
    if (this.#isChild && message !== undefined && trace.getSpanContext(producerOf(message)) !== undefined) return false
    return Math.random() >= this.#ratio
  }

  /** Only what a sampler may need: most spans are not sampled. */
  #start({ destination, system }: Message, { parent, links, kind }: Place, startTime: number): Span {
    const isProcess = kind === SpanKind.CONSUMER
    const options: SpanOptions = {
      kind,
      startTime,
      attributes: {
        'messaging.system': system,
        'messaging.destination.name': destination,
        'messaging.operation.name': 'process',
        ...(isProcess ? { 'messaging.operation.type': 'process' } : {}),
      },
    }
    if (links.length > 0) options.links = links
    return this.#tracer.startSpan(`${isProcess ? 'process' : 'consume_once.process'} ${destination}`, options, parent)
  }

  #placeOf(message: Message, ambient: Span | undefined): Place {
    const base = producerOf(message)
    const producer = trace.getSpanContext(base)
    // An instrumentation that fetches batches has made a `process` span of each message, which cannot be found.
    const isSecond = ambient !== undefined && isReceiveSpan(ambient)
    const kind = isSecond ? SpanKind.INTERNAL : SpanKind.CONSUMER
    if (producer !== undefined && this.#isChild) return { parent: base, base, links: [], kind }
    const parent = ambient === undefined ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, ambient)
    return { parent, base, links: producer === undefined ? [] : [{ context: producer }], kind }
  }
}

/** A batch has several producers. */
function batchPlace(messages: readonly Message[]): Place {
  const links: Link[] = []
  for (const message of messages) {
    const producer = trace.getSpanContext(producerOf(message))
    if (producer !== undefined) links.push({ context: producer })
  }
  return { parent: ROOT_CONTEXT, base: ROOT_CONTEXT, links, kind: SpanKind.CONSUMER }
}
