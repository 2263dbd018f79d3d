// A config for the tests of the tool: a consumer on Redis, under the prefix that the environment names.
import { Redis } from 'ioredis'
import { redisLease } from '../../adapters/redis/index.ts'
import { defineConfig, defineConsumer, messageId, type ConsumeOnceConfig } from '../../src/index.ts'

const redis = new Redis(process.env['TEST_REDIS_URL'] ?? '', { commandTimeout: 5_000, maxRetriesPerRequest: 1 })
redis.on('error', () => {})

const config: ConsumeOnceConfig = defineConfig({
  consumers: [
    {
      consumer: defineConsumer({
        name: 'mailer',
        id: messageId.property(),
        store: redisLease({ redis, prefix: process.env['TEST_PREFIX'] ?? 'co' }),
        onInDoubt: 'park',
        handle: () => {},
      }),
      subscription: { group: 'mails', origins: ['mails'] },
    },
    {
      consumer: defineConsumer({
        name: 'biller',
        id: messageId.property(),
        store: redisLease({ redis, prefix: process.env['TEST_PREFIX'] ?? 'co' }),
        onInDoubt: 'park',
        handle: () => {},
      }),
      subscription: { group: 'mails', origins: ['mails'] },
    },
  ],
  close: () => redis.disconnect(),
})
export default config
