export { otelMetricProducer, type OtelMetricProducer, type OtelMetricProducerOptions } from './metric-producer.ts'
export { otelTracing, type OtelTracingOptions } from './tracing.ts'
