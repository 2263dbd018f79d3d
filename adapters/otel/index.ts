export { otelMetricProducer, type OtelMetricProducer, type OtelMetricProducerOptions } from './metric-producer.ts'
export { otelMetrics, type OtelMeterLike, type OtelMetricsOptions } from './metrics.ts'
export { otelTracing, type OtelTracingOptions } from './tracing.ts'
