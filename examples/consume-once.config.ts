// A config of the command-line tool. It opens nothing by itself:
//   npx tsx cli/main.ts doctor --config examples/consume-once.config.ts
import { Kafka, logLevel } from 'kafkajs'
import { Pool } from 'pg'
import { kafkaBrokers, databaseUrl } from './support/servers.ts'
// #region page
import { defineConfig, defineConsumer, messageId, type ConsumeOnceConfig } from 'consume-once'
import { kafkaSubscription } from 'consume-once/kafkajs'
import { postgresInbox, postgresMigrations } from 'consume-once/pg'

const pool = new Pool({ connectionString: databaseUrl(), max: 4 })
const kafka = new Kafka({ brokers: kafkaBrokers(), logLevel: logLevel.ERROR })

// Better: import it from where it is defined. That module must not run it.
const sms = defineConsumer({
  name: 'sms-sender',
  id: messageId.header('message-id'),
  store: postgresInbox({ pool }),
  handle: async ({ tx }) => void (await tx.query('select 1')),
})

const config: ConsumeOnceConfig = defineConfig({
  // With the options that runKafka is given; rabbitSubscription takes those of runRabbit.
  consumers: [{ consumer: sms, subscription: kafkaSubscription(kafka, { topics: ['sms'], group: 'sms' }) }],
  migrations: [postgresMigrations({ pool })],
  close: () => pool.end(),
})
export default config
// #endregion
