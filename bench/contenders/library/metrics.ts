import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import { defineConsumer, type Observer } from 'consume-once'
import { redisLease } from 'consume-once/redis'
import { postgresInbox } from 'consume-once/pg'
import { otelMetricProducer } from 'consume-once/otel'
import { prometheus } from 'consume-once/prometheus'
import { Registry } from 'prom-client'
import type { Job, Measurement } from '../../suite.ts'
import { Tally } from '../../tally.ts'
import { onPostgres, writeEffectsEach } from '../clients/postgres-client.ts'
import type { LoadBroker } from './broker.ts'
import { onKafka, onRabbit } from './brokers.ts'
import { commonSettings, consumeAllOnce, type Settings } from './consume-once.ts'
import { onRedis } from '../clients/redis-client.ts'
import { RETENTION_MS } from '../clients/redis-times.ts'

/** How often everything is read, as by a Prometheus of an impatient team. */
const SCRAPE_EVERY_MS = 1_000
const CONCURRENCY = 256

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

/** The reader is handed finished numbers. */
export function byOpenTelemetry(): Settings {
  const producer = otelMetricProducer()
  const reader = new ManualReader({ metricProducers: [producer] })
  void new MeterProvider({ readers: [reader] })
  return { observe: scraped(producer.observe, () => reader.collect()) }
}

function scraped(observer: Observer, scrape: () => Promise<unknown>): Observer {
  setInterval(() => void scrape(), SCRAPE_EVERY_MS).unref()
  return observer
}

type OnServers = (settings: () => Settings) => (job: Job) => Promise<Measurement>

export const onKafkaAndRedis: OnServers = leasesInRedis(onKafka)
export const onRabbitAndRedis: OnServers = leasesInRedis(onRabbit(CONCURRENCY * 2, 'quorum'))

/** The handler counts the messages, so that an observer is there only where it is compared. */
function leasesInRedis(load: LoadBroker): OnServers {
  return (settings) => (job) =>
    onRedis(job, async (redis) => {
      const broker = await load()
      const tally = new Tally(job)
      const { observe: _, ...common } = commonSettings(broker, tally)
      const consumer = defineConsumer({
        ...common,
        ...settings(),
        concurrency: CONCURRENCY,
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

/** A handler for each message, which writes a row in the transaction of its mark. */
export const onKafkaAndPostgres: OnServers = (settings) => (job) =>
  onPostgres(job, async (pool) => {
    const broker = await onKafka()
    const tally = new Tally(job)
    const { observe: _, ...common } = commonSettings(broker, tally)
    const consumer = defineConsumer({
      ...common,
      ...settings(),
      store: postgresInbox({ pool, schema: `${job.name}_inbox` }),
      handle: async ({ message, tx }) => {
        const id = String(broker.idOf(message))
        tally.started(id)
        await writeEffectsEach(tx.query, job, [id])
        tally.ended(1)
      },
    })
    return consumeAllOnce(broker, job, tally, consumer)
  })
