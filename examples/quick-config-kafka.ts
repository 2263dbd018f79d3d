// The config of the command-line tool for the quick start with Kafka and Postgres. It connects when a command needs it.
// #region readme
import { Kafka, logLevel } from 'kafkajs'
import { Pool } from 'pg'
import { defineConfig, defineConsumer, json, type ConsumeOnceConfig } from 'consume-once'
import { kafkaSubscription } from 'consume-once/kafkajs'
import { postgresInbox } from 'consume-once/pg'

const brokers = (process.env['KAFKA_BROKERS'] ?? '127.0.0.1:9092').split(',')
const databaseUrl = process.env['DATABASE_URL'] ?? 'postgres://postgres:postgres@127.0.0.1:5432/postgres'
const topic = process.env['TOPIC'] ?? 'payments'

const kafka = new Kafka({ brokers, logLevel: logLevel.NOTHING })
const pool = new Pool({ connectionString: databaseUrl })

// In a project: import the consumer from a module that defines it and does not run it.
const payments = defineConsumer({
  name: 'charge-account',
  decode: json<{ paymentId: string }>(),
  id: ({ payload }) => payload.paymentId,
  store: postgresInbox({ pool }),
  handle: () => {},
})

const config: ConsumeOnceConfig = defineConfig({
  consumers: [{ consumer: payments, subscription: kafkaSubscription(kafka, { topics: [topic], group: 'payments' }) }],
  close: () => pool.end(),
})
export default config
// #endregion
