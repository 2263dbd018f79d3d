import { trace } from '@opentelemetry/api'
import { defineConsumer, type Tracing } from 'consume-once'
import { memoryStore } from 'consume-once/memory'
import { otelTracing } from 'consume-once/otel'

/** A real tracer fits, and none is needed. */
export const traced: Tracing = otelTracing({ tracer: trace.getTracer('sms'), producerContext: 'parent' })
export const plain: unknown = defineConsumer({
  name: 'a',
  store: memoryStore(),
  handle: () => {},
  trace: otelTracing(),
})

// @ts-expect-error the context of a producer is a link or the parent
export const wrong: unknown = otelTracing({ producerContext: 'child' })
// @ts-expect-error a tracer makes spans
export const none: unknown = otelTracing({ tracer: {} })
export const tracer: unknown = defineConsumer({
  name: 'a',
  store: memoryStore(),
  handle: () => {},
  // @ts-expect-error what is made of a tracer is expected, not the tracer
  trace: trace.getTracer('a'),
})
