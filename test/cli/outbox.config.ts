// A config for the tests of the tool: a consumer with an outbox in the schema that the environment names, whose broker is a file.
import { appendFileSync } from 'node:fs'
import { Pool } from 'pg'
import { postgresInbox, postgresOutbox } from '../../adapters/pg/index.ts'
import { defineConfig, defineConsumer, type ConsumeOnceConfig } from '../../src/index.ts'

const pool = new Pool({ connectionString: process.env['TEST_DATABASE_URL'], max: 4 })
const schema = process.env['TEST_SCHEMA'] ?? 'consume_once'
const kafka = {
  publish: async ({ messageId }: { readonly messageId: string }): Promise<void> =>
    appendFileSync(process.env['TEST_BROKER_FILE'] ?? '', `${messageId}\n`),
}
const outbox = postgresOutbox({ pool, schema, publishers: { kafka } })
const subscription = { group: 'billing', origins: ['orders'] }

const config: ConsumeOnceConfig = defineConfig({
  consumers: [
    {
      consumer: defineConsumer({ name: 'payments', store: postgresInbox({ pool, schema, outbox }), handle: () => {} }),
      subscription,
    },
    {
      consumer: defineConsumer({ name: 'plain', store: postgresInbox({ pool, schema }), handle: () => {} }),
      subscription,
    },
  ],
  close: () => pool.end(),
})
export default config
