// A config for the tests of the tool: a client of ioredis with its defaults, and none of its errors heard.
import { Redis } from 'ioredis'
import { redisLease } from '../../adapters/redis/index.ts'
import { defineConfig, defineConsumer, messageId, type ConsumeOnceConfig } from '../../src/index.ts'

const redis = new Redis(process.env['TEST_REDIS_URL'] ?? '')

const config: ConsumeOnceConfig = defineConfig({
  consumers: [
    {
      consumer: defineConsumer({
        name: 'mailer',
        id: messageId.property(),
        store: redisLease({ redis }),
        handle: () => {},
      }),
      subscription: { group: 'mails', origins: ['mails'] },
    },
  ],
  close: () => redis.disconnect(),
})
export default config
