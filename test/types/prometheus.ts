import { register, type OpenMetricsContentType, type Registry } from 'prom-client'
import { register as register14 } from 'prom-client-14'
import { defineConsumer, type Observer } from 'consume-once'
import { memoryStore } from 'consume-once/memory'
import { prometheus } from 'consume-once/prometheus'

declare const openMetrics: Registry<OpenMetricsContentType>

/** Real registries fit, of both content types and of prom-client 14. */
export const observers: readonly Observer[] = [
  prometheus({ registry: register }),
  prometheus({ registry: openMetrics }),
  prometheus({ registry: register14, readStores: false }),
]

export const consumer: unknown = defineConsumer({
  name: 'a',
  store: memoryStore(),
  handle: () => {},
  observe: [prometheus({ registry: register })],
})

// @ts-expect-error the registry is needed
prometheus({})
