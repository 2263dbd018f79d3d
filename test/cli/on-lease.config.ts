// A config for the tests of the tool: a consumer on the kind of store that the environment names.
import { Redis } from 'ioredis'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import { mysqlLease } from '../../adapters/mysql2/index.ts'
import { postgresLease } from '../../adapters/pg/index.ts'
import { redisLease } from '../../adapters/redis/index.ts'
import { defineConfig, defineConsumer, messageId, type ConsumeOnceConfig, type Store } from '../../src/index.ts'

const url = process.env['TEST_STORE_URL'] ?? ''
const place = process.env['TEST_PLACE'] ?? ''

function open(): { readonly store: Store; readonly close: () => unknown } {
  switch (process.env['TEST_STORE'] as 'redis' | 'postgres' | 'mariadb') {
    case 'redis': {
      const redis = new Redis(url, { commandTimeout: 5_000 })
      return { store: redisLease({ redis, prefix: place }), close: () => redis.disconnect() }
    }
    case 'postgres': {
      const pool = new Pool({ connectionString: url, max: 3 })
      return { store: postgresLease({ pool, schema: place }), close: () => pool.end() }
    }
    case 'mariadb': {
      const pool = createPool({ uri: url, database: place, connectionLimit: 3 })
      return { store: mysqlLease({ pool }), close: () => pool.end() }
    }
  }
}

const { store, close } = open()
const group = process.env['TEST_GROUP'] ?? ''

const config: ConsumeOnceConfig = defineConfig({
  consumers: [
    {
      consumer: defineConsumer({ name: 'observed', id: messageId.header('id'), store, handle: () => {} }),
      subscription: { group, origins: [process.env['TEST_ORIGIN'] ?? group] },
    },
  ],
  close: async () => {
    await close()
  },
})
export default config
