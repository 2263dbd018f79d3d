// A config for the tests of the tool that waits for its servers at top level, as TEST_WAITS says.
import { Redis } from 'ioredis'
import { createConnection } from 'mysql2/promise'
import { Client } from 'pg'
import { createClient } from 'redis'
import { defineConfig, defineConsumer, type ConsumeOnceConfig } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'

const url = process.env['TEST_WAITS_URL'] ?? ''
const WAITS: Readonly<Record<string, () => Promise<unknown>>> = {
  'node-redis': () =>
    createClient({ url })
      .on('error', () => {})
      .connect(),
  ioredis: () => new Redis(url, { maxRetriesPerRequest: null }).on('error', () => {}).ping(),
  pg: () => new Client({ connectionString: url }).connect(),
  mysql2: () => createConnection({ uri: url, connectTimeout: 600_000 }),
}

await WAITS[process.env['TEST_WAITS'] ?? '']?.()

const config: ConsumeOnceConfig = defineConfig({
  consumers: [
    {
      consumer: defineConsumer({ name: 'sms', store: memoryStore(), handle: () => {} }),
      subscription: { group: 'g', origins: ['t'] },
    },
  ],
})
export default config
