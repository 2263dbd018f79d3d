import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import { defineConsumer, type Observer } from 'consume-once'
import { redisLease } from 'consume-once/ioredis'
import { otelMetricProducer, otelMetrics } from 'consume-once/otel'
import { prometheus } from 'consume-once/prometheus'
import { Registry } from 'prom-client'
import type { Job, Measurement } from '../../suite.ts'
import { Tally } from '../../tally.ts'
import { onKafka } from './brokers.ts'
import { commonSettings, consumeAllOnce, type Settings } from './consume-once.ts'
import { onRedis } from '../clients/redis-client.ts'
import { RETENTION_MS } from '../clients/redis-times.ts'

/** How often everything is read, as by a Prometheus of an impatient team. */
const SCRAPE_EVERY_MS = 1_000

/** Read only by the timer. */
class ManualReader extends MetricReader {
  protected override async onShutdown(): Promise<void> {}
  protected override async onForceFlush(): Promise<void> {}
}

export const unobserved = (): Settings => ({})

/** Cost of creating the events. */
export const observed = (): Settings => ({ observe: () => {} })

export function byPrometheus(): Settings {
  const registry = new Registry()
  return { observe: scraped(prometheus({ registry }), () => registry.metrics()) }
}

export function byOpenTelemetry(): Settings {
  const reader = new ManualReader()
  const meter = new MeterProvider({ readers: [reader] }).getMeter('consume-once')
  return { observe: scraped(otelMetrics({ meter }), () => reader.collect()) }
}

/** The reader is handed finished numbers. */
export function byOpenTelemetryProducer(): Settings {
  const producer = otelMetricProducer()
  const reader = new ManualReader({ metricProducers: [producer] })
  void new MeterProvider({ readers: [reader] })
  return { observe: scraped(producer.observe, () => reader.collect()) }
}

function scraped(observer: Observer, scrape: () => Promise<unknown>): Observer {
  setInterval(() => void scrape(), SCRAPE_EVERY_MS).unref()
  return observer
}

/** On Kafka and leases in Redis. The handler counts the messages, so that an observer is there only where it is compared. */
export function onKafkaAndRedis(settings: () => Settings): (job: Job) => Promise<Measurement> {
  return (job) =>
    onRedis(job, async (redis) => {
      const broker = await onKafka()
      const tally = new Tally(job)
      const { observe: _, ...common } = commonSettings(broker, tally)
      const consumer = defineConsumer({
        ...common,
        ...settings(),
        concurrency: 256,
        retentionMs: RETENTION_MS,
        store: redisLease({ redis, prefix: job.name }),
        handle: async ({ message }) => {
          tally.started(broker.idOf(message))
          tally.ended(1)
        },
      })
      return consumeAllOnce(broker, job, tally, consumer)
    })
}
