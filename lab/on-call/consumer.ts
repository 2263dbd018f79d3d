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
}

type Settings = ConsumerSettings<unknown, unknown, PgTransaction>

export const OPTIONS: KafkaOptions = {
  topics: ['sms'],
  group: 'sms',
  consumerConfig: { sessionTimeout: 6_000, maxWaitTimeInMs: 200, metadataMaxAge: 1_000 },
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
  const { store, isBroken = false } = settings
  const pool = new Pool({ connectionString: settings.databaseUrl, max: 6 })
  const consumer = defineConsumer<unknown, unknown, PgTransaction>({
    name: 'sms-sender',
    store: store === 'inbox' ? postgresInbox({ pool }) : postgresOffsets({ pool }),
    observe,
    batchSize: 1,
    // By offsets a message is known by its place, and one of a partition runs at a time.
    ...(store === 'offsets' ? {} : { id: messageId.header('id') }),
    handle: async ({ message, tx }) => {
      if (isBroken) throw new TypeError("Cannot read properties of undefined (reading 'to')")
      await tx.query('insert into effects (id) values ($1)', [String(message.headers['id'])])
    },
  })
  return { consumer, pool }
}
