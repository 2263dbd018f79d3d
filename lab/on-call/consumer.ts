import { setTimeout as sleep } from 'node:timers/promises'
import { Kafka, logLevel } from 'kafkajs'
import { Pool } from 'pg'
import type { KafkaOptions } from '../../adapters/kafkajs/index.ts'
import { postgresInbox, postgresOffsets, type PgTransaction } from '../../adapters/pg/index.ts'
import { defineConsumer, messageId, type Consumer, type ConsumerSettings } from '../../src/index.ts'

/** What was deployed, as JSON in `ON_CALL`. Topic and group are `sms`, as on the pages. */
export interface Deployed {
  readonly brokers: string[]
  readonly databaseUrl: string
  readonly store: 'inbox' | 'offsets'
  /** A version in which every handler fails. @defaultValue false */
  readonly isBroken?: boolean
  /** @defaultValue `sms-sender` */
  readonly name?: string
  /** @defaultValue `sms` */
  readonly group?: string
  /** Options of the consumer. */
  readonly settings?: Pick<Settings, 'limit' | 'maxAttempts' | 'maxInFlight' | 'scope' | 'transactions'>
  readonly order?: 'key' | 'partition'
  /** How long the provider takes. @defaultValue 0 */
  readonly handlerMs?: number
  /** What the provider does with messages whose ID begins with `bad`. @defaultValue true */
  readonly takesBadOnes?: boolean
  /** A person has paused it. @defaultValue false */
  readonly isPaused?: boolean
}

type Settings = ConsumerSettings<unknown, unknown, PgTransaction>

export function optionsOf({
  store,
  group = 'sms',
  order = store === 'offsets' ? 'partition' : 'key',
}: Deployed): KafkaOptions {
  return {
    topics: ['sms'],
    group,
    order,
    consumerConfig: { sessionTimeout: 6_000, maxWaitTimeInMs: 200, metadataMaxAge: 1_000 },
  }
}

export function deployed(): Deployed {
  return JSON.parse(process.env['ON_CALL'] ?? '') as Deployed
}

export function kafkaOf({ brokers }: Deployed): Kafka {
  return new Kafka({ brokers, logLevel: logLevel.NOTHING })
}

/** Its effect is a row of `effects`. */
export function consumerOf(
  settings: Deployed,
  observe: NonNullable<Settings['observe']> = [],
): {
  readonly consumer: Consumer
  readonly pool: Pool
} {
  const { store, isBroken = false, name = 'sms-sender', handlerMs = 0, takesBadOnes = true } = settings
  const pool = new Pool({ connectionString: settings.databaseUrl, max: 40 })
  const consumer = defineConsumer<unknown, unknown, PgTransaction>({
    name,
    store: store === 'inbox' ? postgresInbox({ pool }) : postgresOffsets({ pool }),
    observe,
    batchSize: 1,
    concurrency: 1,
    ...settings.settings,
    // By offsets a message is known by its place, and one of a partition runs at a time.
    ...(store === 'offsets' ? {} : { id: messageId.header('id') }),
    handle: async ({ message, tx }) => {
      if (isBroken) throw new TypeError("Cannot read properties of undefined (reading 'to')")
      const id = String(message.headers['id'])
      if (handlerMs > 0) await sleep(handlerMs)
      if (!takesBadOnes && id.startsWith('bad')) throw new Error('503 Service Unavailable')
      await tx.query('insert into effects (id) values ($1)', [id])
    },
  })
  return { consumer, pool }
}
