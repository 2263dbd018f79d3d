import { metrics } from '@opentelemetry/api'
import { MeterProvider, type MetricProducer } from '@opentelemetry/sdk-metrics'
import type { Observer } from 'consume-once'
import { otelMetricProducer, otelMetrics } from 'consume-once/otel'

/** Real meters fit, of the API and of an SDK. */
export const observers: readonly Observer[] = [
  otelMetrics({ meter: metrics.getMeter('consume-once') }),
  otelMetrics({ meter: new MeterProvider().getMeter('consume-once'), readStores: false }),
]

// @ts-expect-error the meter is needed
otelMetrics({})

const producer = otelMetricProducer({ readStores: false })
export const observer: Observer = producer.observe
/** A reader of the SDK takes it. */
export const producers: readonly MetricProducer[] = [producer]
