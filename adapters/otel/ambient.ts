import { SpanKind, context, createContextKey, trace, type Context, type Span } from '@opentelemetry/api'

/**
 * The key by which `suppressTracing()` of @opentelemetry/core tells the SDK to make no spans. A key is a `Symbol.for` of
 * this text, in every version.
 */
const SUPPRESS = createContextKey('OpenTelemetry SDK Context Key SUPPRESS_TRACING')

/** The fields of a span of the SDK. The API has none to read. */
interface ReadSpan extends Span {
  readonly name?: unknown
  readonly kind?: unknown
  readonly attributes?: Readonly<Record<string, unknown>>
}

export function quiet(within: Context): Context {
  return within.setValue(SUPPRESS, true)
}

/** The active span of this process, if there is one. */
export function ambientSpan(): Span | undefined {
  const span = trace.getActiveSpan()
  if (span === undefined || context.active().getValue(SUPPRESS) === true) return undefined
  const { isRemote } = span.spanContext()
  return isRemote === true || !trace.isSpanContextValid(span.spanContext()) ? undefined : span
}

/**
 * An instrumentation made this span to process a message of this destination. That of amqplib names the queue only in
 * the name of its span.
 */
export function isProcessSpan(span: Span, destination: string): boolean {
  const { kind, name, attributes } = span as ReadSpan
  if (kind !== SpanKind.CONSUMER) return false
  return (
    attributes?.['messaging.destination.name'] === destination ||
    name === `process ${destination}` ||
    name === `${destination} process`
  )
}

/** An instrumentation made this span for a batch of messages, beside one span for each of them. */
export function isReceiveSpan(span: Span): boolean {
  return (span as ReadSpan).attributes?.['messaging.operation.type'] === 'receive'
}
