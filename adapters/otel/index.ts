export { otelMetrics, type OtelMeterLike, type OtelMetricsOptions } from './metrics.ts'
