// A config for the tests of the tool: a consumer on MariaDB, in the database that the environment names.
import { createPool } from 'mysql2/promise'
import { mysqlInbox, mysqlMigrations } from '../../adapters/mysql2/index.ts'
import { defineConfig, defineConsumer, messageId, type ConsumeOnceConfig } from '../../src/index.ts'

const pool = createPool({
  uri: process.env['TEST_DATABASE_URL'] ?? '',
  database: process.env['TEST_DATABASE'] ?? '',
  connectionLimit: 2,
})

const config: ConsumeOnceConfig = defineConfig({
  consumers: [
    {
      consumer: defineConsumer({
        name: 'in-inbox',
        id: messageId.header('id'),
        store: mysqlInbox({ pool, setup: 'check' }),
        handle: () => {},
      }),
      subscription: { group: 'workers', origins: ['sms'] },
    },
  ],
  migrations: [mysqlMigrations({ pool })],
  close: () => pool.end(),
})
export default config
