// A config for the tests of the tool that connects node-redis without `await`, and has a consumer on another store.
import { createClient } from 'redis'
import { redisLease } from '../../adapters/redis/index.ts'
import { defineConfig, defineConsumer, messageId, type ConsumeOnceConfig } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'

const redis = createClient({ url: process.env['TEST_REDIS_URL'] ?? '' }).on('error', () => {})
redis.connect().catch(() => {})

const handle = (): void => {}
const id = messageId.property()
const subscription = { group: 'g', origins: ['t'] }
const config: ConsumeOnceConfig = defineConfig({
  consumers: [
    { consumer: defineConsumer({ name: 'mailer', id, store: redisLease({ redis }), handle }), subscription },
    { consumer: defineConsumer({ name: 'sms', id, store: memoryStore(), handle }), subscription },
  ],
  close: () => redis.destroy(),
})
export default config
