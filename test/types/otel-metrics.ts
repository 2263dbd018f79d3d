import type { MetricProducer } from '@opentelemetry/sdk-metrics'
import type { Observer } from 'consume-once'
import { otelMetricProducer } from 'consume-once/otel'

const producer = otelMetricProducer({ readStores: false, temporality: 'delta' })
export const observer: Observer = producer.observe
/** A reader of the SDK takes it. */
export const producers: readonly MetricProducer[] = [producer]

// @ts-expect-error it is read by a reader, and has no meter
otelMetricProducer({ meter: undefined })
