import { SpanKind, SpanStatusCode, context, propagation, trace } from '@opentelemetry/api'
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  SimpleSpanProcessor,
  type ReadableSpan,
  type Sampler,
} from '@opentelemetry/sdk-trace-node'

/** The SDK of OpenTelemetry as an application sets it up, with its spans in memory. */
export class Spans {
  readonly #exporter = new InMemorySpanExporter()
  readonly #provider: NodeTracerProvider

  constructor(sampler?: Sampler) {
    const spanProcessors = [new SimpleSpanProcessor(this.#exporter)]
    this.#provider = new NodeTracerProvider({ spanProcessors, ...(sampler && { sampler }) })
    this.#provider.register()
  }

  /** In the order of their ends. */
  get all(): readonly ReadableSpan[] {
    return this.#exporter.getFinishedSpans()
  }

  named(name: string): readonly ReadableSpan[] {
    return this.all.filter((span) => span.name === name)
  }

  childrenOf(parent: ReadableSpan | undefined): readonly string[] {
    const parentId = parent?.spanContext().spanId
    return this.all.filter(({ parentSpanContext }) => parentSpanContext?.spanId === parentId).map(({ name }) => name)
  }

  async end(): Promise<void> {
    await this.#provider.shutdown()
    trace.disable()
    context.disable()
    propagation.disable()
  }
}

export function kindOf({ kind }: ReadableSpan): string | undefined {
  return SpanKind[kind]
}

export function statusOf({ status }: ReadableSpan): string | undefined {
  return SpanStatusCode[status.code]
}

export function traceparentOf(span: ReadableSpan | undefined): string {
  const { traceId = '', spanId = '', traceFlags = 0 } = span?.spanContext() ?? {}
  return `00-${traceId}-${spanId}-0${traceFlags}`
}

export function linksOf({ links }: ReadableSpan): string[] {
  return links.map((link) => `00-${link.context.traceId}-${link.context.spanId}-0${link.context.traceFlags}`)
}

export function durationMsOf({ duration: [seconds, nanos] }: ReadableSpan): number {
  return Math.round(seconds * 1_000 + nanos / 1e6)
}
