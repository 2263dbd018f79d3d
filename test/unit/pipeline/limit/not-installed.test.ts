import { expect, it, jest } from '@jest/globals'
import { postgresLimit, redisLimit } from '../../../../adapters/rate-limiter-flexible/index.ts'
import { defineConsumer, messageId, type SharedLimit } from '../../../../src/index.ts'
import { MemoryBroker, memoryStore, runMemory } from '../../../../src/memory/index.ts'

// As in a project that has not installed the optional peer.
jest.mock('rate-limiter-flexible', () => {
  throw Object.assign(new Error("Cannot find module 'rate-limiter-flexible'"), { code: 'MODULE_NOT_FOUND' })
})

const never = async (): Promise<never> => {
  throw new Error('the server was asked')
}

it.each<[string, SharedLimit]>([
  ['redisLimit', redisLimit({ redis: { eval: never, multi: never }, name: 'sms' })],
  ['postgresLimit', postgresLimit({ pool: { query: never }, name: 'sms' })],
])('a consumer with %s does not start without its library, and says what to install', async (_, shared) => {
  const consumer = defineConsumer({
    name: 'sms-sender',
    id: messageId.header('id'),
    store: memoryStore(),
    limit: { perSecond: 1, shared },
    handle: () => {},
  })
  await expect(runMemory(new MemoryBroker(), consumer, { topic: 'sms', group: 'g' })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    problems: ['rate-limiter-flexible is not installed: run `npm install rate-limiter-flexible`'],
  })
})
