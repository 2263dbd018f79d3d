import { ROOT_CONTEXT, propagation, type Context, type SpanContext, type TextMapGetter } from '@opentelemetry/api'
import type { Message } from '../../src/internal.ts'

type Headers = Message['headers']

const HEADERS: TextMapGetter<Headers> = {
  get: (headers, name) => textOf(headers, name),
  keys: (headers) => Object.keys(headers),
}

/** The context that a message carries: trace and baggage of its producer. */
export function producerOf({ headers }: Message): Context {
  // A handler of most messages need not wait for a parser.
  for (const field of propagation.fields()) {
    if (textOf(headers, field) !== undefined) return propagation.extract(ROOT_CONTEXT, headers, HEADERS)
  }
  return ROOT_CONTEXT
}

function textOf(headers: Headers, name: string): string | undefined {
  if (!Object.hasOwn(headers, name)) return undefined
  const header = headers[name]
  const value: unknown = Array.isArray(header) ? header[0] : header
  if (typeof value === 'string') return value
  return value instanceof Uint8Array
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString()
    : undefined
}

/** The span context of a `traceparent` that this library kept. Another propagator may be in use. */
export function parseTraceparent(text: string): SpanContext | undefined {
  const [, traceId, spanId, flags] = text.split('-')
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
}
