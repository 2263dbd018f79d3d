import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { Kafka, logLevel } from 'kafkajs'
import { Pool } from 'pg'
import { rabbitSubscription } from '../../adapters/amqplib/index.ts'
import { kafkaSubscription, type KafkaOptions } from '../../adapters/kafkajs/index.ts'
import { postgresInbox, type PgTransaction } from '../../adapters/pg/index.ts'
import { redisLease } from '../../adapters/redis/index.ts'
import { defineConsumer, messageId, TerminalError, type Consumer, type Subscription } from '../../src/index.ts'
import { FAST } from '../kafka/kit.ts'

/** What a process of these tests is told: the consumer, its broker and its store. JSON in `TEST_REPLAY`. */
export interface ReplaySettings {
  readonly broker:
    | { readonly kafka: string[]; readonly topic: string }
    | { readonly amqp: string; readonly queue: string }
  readonly store:
    | { readonly postgres: string; readonly schema: string }
    | { readonly redis: string; readonly prefix: string }
  /** Name of the consumer. @defaultValue `sms` */
  readonly name?: string
  readonly group: string
  /** Its former names. @defaultValue none */
  readonly scope?: { readonly queue?: string; readonly topics?: Readonly<Record<string, string>> }
  /** The handler has a bug: every message is given up whose payload has this tenant. */
  readonly bugFor?: string
  /** @defaultValue 1 */
  readonly maxAttempts?: number
  /** Likewise the message with this ID. */
  readonly bugOf?: string
  /** @defaultValue false */
  readonly logIds?: boolean
  /** Address of a schema registry that the decoder asks for each payload. @defaultValue none */
  readonly registry?: string
  /** How long a handler takes. @defaultValue 0 */
  readonly slowMs?: number
}

export interface Replayed {
  readonly consumer: Consumer
  readonly subscription: Subscription
  /** IDs whose effect happened, as often as it happened. */
  effects(): Promise<readonly string[]>
  close(): Promise<void>
}

export function kafkaOptions({ broker, group }: ReplaySettings): KafkaOptions {
  if (!('kafka' in broker)) throw new TypeError('these settings have another broker')
  return { ...FAST, topics: [broker.topic], group, startAt: 'earliest' }
}

export function kafkaClient(brokers: string[]): Kafka {
  return new Kafka({ brokers, logLevel: logLevel.NOTHING, retry: { initialRetryTime: 50, retries: 5 } })
}

export function replayed(settings: ReplaySettings): Replayed {
  const { broker, store } = settings
  const subscription =
    'kafka' in broker
      ? kafkaSubscription(kafkaClient(broker.kafka), kafkaOptions(settings))
      : rabbitSubscription(broker.amqp, { queue: broker.queue })
  return 'postgres' in store ? onPostgres(settings, store, subscription) : onRedis(settings, store, subscription)
}

interface Sms {
  readonly id: string
  readonly tenant: string
}

function common({ name = 'sms', scope, maxAttempts = 1, logIds = false, bugFor, registry }: ReplaySettings) {
  return {
    name,
    ...(scope === undefined ? {} : { scope }),
    logIds,
    id: messageId.header('id'),
    maxAttempts,
    // These incidents are about many dead letters, and a hold would leave most of them undone.
    hold: bugFor === undefined,
    decode: async (value: Uint8Array | null): Promise<Sms> => {
      if (registry !== undefined) await fetch(registry)
      return JSON.parse(Buffer.from(value ?? []).toString()) as Sms
    },
  }
}

async function work({ bugFor, bugOf, slowMs = 0 }: ReplaySettings, { id, tenant }: Sms): Promise<void> {
  if (slowMs > 0) await sleep(slowMs)
  if (tenant === bugFor || id === bugOf) throw new TerminalError('cannot read the field "to"')
}

function onPostgres(
  settings: ReplaySettings,
  { postgres, schema }: { readonly postgres: string; readonly schema: string },
  subscription: Subscription,
): Replayed {
  const pool = new Pool({ connectionString: postgres, max: 6 })
  pool.on('error', () => {})
  const consumer = defineConsumer<Sms, Sms, PgTransaction>({
    ...common(settings),
    store: postgresInbox({ pool, schema }),
    handle: async ({ payload, tx }) => {
      await work(settings, payload)
      await tx.query(`insert into ${schema}.effect (id) values ($1)`, [payload.id])
    },
  })
  return {
    consumer,
    subscription,
    effects: async () => {
      const { rows } = await pool.query<{ readonly id: string }>(`select id from ${schema}.effect`)
      return rows.map(({ id }) => id)
    },
    close: () => pool.end(),
  }
}

function onRedis(
  settings: ReplaySettings,
  { redis: url, prefix }: { readonly redis: string; readonly prefix: string },
  subscription: Subscription,
): Replayed {
  const redis = new Redis(url, { commandTimeout: 5_000 })
  redis.on('error', () => {})
  const consumer = defineConsumer<Sms>({
    ...common(settings),
    store: redisLease({ redis, prefix }),
    leaseMs: 2_000,
    onInDoubt: 'park',
    handle: async ({ payload }) => {
      await work(settings, payload)
      await redis.rpush(`${prefix}:effects`, payload.id)
    },
  })
  return {
    consumer,
    subscription,
    effects: () => redis.lrange(`${prefix}:effects`, 0, -1),
    close: async () => redis.disconnect(),
  }
}
