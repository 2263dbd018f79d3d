// What is measured: a worker as docs/deploy.md has it. Its only argument is WorkerSettings as JSON. It prints the port of its health
// when it is ready, and ends at SIGTERM.

import { setTimeout as sleep } from 'node:timers/promises'
import { register } from 'prom-client'
import { serveHealth } from '../../adapters/health/index.ts'
import { prometheus } from '../../adapters/prometheus/index.ts'
import { defineConsumer, messageId, type Running } from '../../src/index.ts'
import { PROVIDER_MS, type WorkerSettings } from './plan.ts'

interface Sms {
  readonly text: string
}

const settings = JSON.parse(process.argv[2] ?? '') as WorkerSettings
const { consumer, close } = settings.what === 'kafka-redis' ? await onKafka(settings) : await onRabbit(settings)
process.once('SIGTERM', () => void stop())
const health = await serveHealth(consumer, { port: 0, host: '127.0.0.1', metrics: register })
await consumer.ready()
console.log(String(health.port))

async function stop(): Promise<void> {
  await consumer.stop({ deadlineMs: 20_000 })
  await health.close()
  await close()
}

interface Started {
  readonly consumer: Running
  readonly close: () => Promise<unknown>
}

/** Each loads its own clients alone. */
async function onKafka({ broker, place, storeUrl }: WorkerSettings): Promise<Started> {
  const [{ Kafka, logLevel }, { Redis }, { runKafka }, { redisLease }] = await Promise.all([
    import('kafkajs'),
    import('ioredis'),
    import('../../adapters/kafkajs/index.ts'),
    import('../../adapters/redis/index.ts'),
  ])
  const redis = new Redis(storeUrl)
  const sms = defineConsumer<Sms>({
    name: 'sms-sender',
    id: messageId.header('message-id'),
    store: redisLease({ redis }),
    handle: async () => {
      await sleep(PROVIDER_MS)
    },
    observe: [prometheus({ registry: register })],
  })
  const kafka = new Kafka({ brokers: [broker], logLevel: logLevel.NOTHING })
  return { consumer: runKafka(kafka, sms, { topics: [place], group: place }), close: () => redis.quit() }
}

async function onRabbit({ broker, place, storeUrl }: WorkerSettings): Promise<Started> {
  const [{ default: pg }, { runRabbit }, { postgresInbox }] = await Promise.all([
    import('pg'),
    import('../../adapters/amqplib/index.ts'),
    import('../../adapters/pg/index.ts'),
  ])
  const pool = new pg.Pool({ connectionString: storeUrl, max: 9 })
  await pool.query('create table if not exists sms (id text primary key, text text not null)')
  const sms = defineConsumer({
    name: 'sms-sender',
    id: messageId.property(),
    store: postgresInbox({ pool }),
    transactions: 8,
    handle: async ({ payload, idempotencyKey, tx }) => {
      await tx.query('insert into sms (id, text) values ($1, $2)', [idempotencyKey, (payload as Sms).text])
    },
    observe: [prometheus({ registry: register })],
  })
  return { consumer: runRabbit(broker, sms, { queue: place }), close: () => pool.end() }
}
