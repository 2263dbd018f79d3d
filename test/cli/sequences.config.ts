// A config for the tests of the tool: a consumer whose senders number their messages, on Redis.
import { Redis } from 'ioredis'
import { redisSequences } from '../../adapters/redis/index.ts'
import {
  defineConfig,
  defineConsumer,
  messageId,
  OutcomeUnknownError,
  type ConsumeOnceConfig,
} from '../../src/index.ts'
import { MemoryBroker, runMemory } from '../../src/memory/index.ts'

const redis = new Redis(process.env['TEST_REDIS_URL'] ?? '', { commandTimeout: 5_000, maxRetriesPerRequest: 1 })
redis.on('error', () => {})

const meters = defineConsumer({
  name: 'meters',
  id: messageId.sourceSequence({ source: messageId.header('meter'), sequence: messageId.header('seq') }),
  store: redisSequences({ redis, prefix: process.env['TEST_PREFIX'] ?? 'co' }),
  onInDoubt: 'park',
  handle: () => {
    throw new OutcomeUnknownError('no answer')
  },
})

const broker = new MemoryBroker()
const running = await runMemory(broker, meters, { topic: 'readings', group: 'meters' })
broker.publish('readings', { value: Buffer.from('{}'), headers: { meter: 'meter-4', seq: '17' } })
await broker.drained('readings', 'meters')
await running.stop()

const config: ConsumeOnceConfig = defineConfig({
  consumers: [{ consumer: meters, subscription: { group: 'meters', origins: ['readings'] } }],
  close: () => redis.disconnect(),
})
export default config
