import { metrics } from '@opentelemetry/api'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import type { Observer } from 'consume-once'
import { otelMetrics } from 'consume-once/otel'

/** Real meters fit, of the API and of an SDK. */
export const observers: readonly Observer[] = [
  otelMetrics({ meter: metrics.getMeter('consume-once') }),
  otelMetrics({ meter: new MeterProvider().getMeter('consume-once'), readStores: false }),
]

// @ts-expect-error the meter is needed
otelMetrics({})
