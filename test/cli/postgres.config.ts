// A config for the tests of the tool: consumers on Postgres, in the schema that the environment names.
import { Pool } from 'pg'
import { postgresInbox, postgresLease, postgresMigrations, postgresOffsets } from '../../adapters/pg/index.ts'
import {
  defineConfig,
  defineConsumer,
  messageId,
  type Subscription,
  type ConsumeOnceConfig,
  type Store,
} from '../../src/index.ts'

const pool = new Pool({ connectionString: process.env['TEST_DATABASE_URL'], max: 3 })
const schema = process.env['TEST_SCHEMA'] ?? 'consume_once'
const from: Subscription = { group: 'workers', origins: ['sms'] }
const consumer = (name: string, store: Store<unknown>): ConsumeOnceConfig['consumers'][number] => ({
  consumer: defineConsumer({ name, id: messageId.header('id'), store, handle: () => {} }),
  subscription: from,
})

const config: ConsumeOnceConfig = defineConfig({
  consumers: [
    consumer('in-inbox', postgresInbox({ pool, schema })),
    consumer('on-lease', postgresLease({ pool, schema })),
    {
      consumer: defineConsumer({ name: 'by-offsets', store: postgresOffsets({ pool, schema }), handle: () => {} }),
      subscription: from,
    },
  ],
  migrations: [postgresMigrations({ pool, schema })],
  close: () => pool.end(),
})
export default config
