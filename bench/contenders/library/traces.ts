import { SpanKind, context, trace } from '@opentelemetry/api'
import { NodeTracerProvider, BatchSpanProcessor, TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace-node'
import { otelTracing } from 'consume-once/otel'
import type { Handle } from '../handlers.ts'
import type { Settings } from './consume-once.ts'

/** An application that exports nothing: what an exporter costs is its own. */
const DISCARDED = {
  export: (_: unknown, done: (result: { code: number }) => void) => done({ code: 0 }),
  shutdown: async () => {},
}

/** An SDK as an application sets it up. With the share 0 nothing is sampled, and its context manager is there all the same. */
function sampled(share: number): void {
  const sampler = new TraceIdRatioBasedSampler(share)
  new NodeTracerProvider({ sampler, spanProcessors: [new BatchSpanProcessor(DISCARDED)] }).register()
}

/**
 * Settings of a consumer that is not traced, in an application that traces other things. Once such an application has
 * entered a context, each of its promises costs more, those of the clients too.
 */
export function besideTraces(): Settings {
  sampled(0.01)
  context.with(context.active(), () => {})
  return {}
}

/** Settings of a consumer in an application that samples this share of its traces. */
export function tracedAt(share: number): Settings {
  sampled(share)
  return { trace: otelTracing() }
}

/** The same, with a consumer that asks the tracer for no more than this share. */
export function askedAt(ratio: number): Settings {
  sampled(1)
  return { trace: otelTracing({ ratio }) }
}

/** A handler that makes its span itself, in an application that samples this share of its traces. */
export function spanned(handle: Handle, share: number): Handle {
  sampled(share)
  const tracer = trace.getTracer('by hand')
  const attributes = {
    'messaging.system': 'kafka',
    'messaging.destination.name': 'orders',
    'messaging.operation.name': 'process',
    'messaging.operation.type': 'process',
  }
  return () =>
    tracer.startActiveSpan('process orders', { kind: SpanKind.CONSUMER, attributes }, async (span) => {
      try {
        await handle()
      } finally {
        span.end()
      }
    })
}
