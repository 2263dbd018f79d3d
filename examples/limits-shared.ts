// Two processes that share one quota over Redis. Here both are in this process, with a client and a store each.
import assert from 'node:assert/strict'
import { MemoryBroker, memoryStore, runMemory } from 'consume-once/memory'
import type { Consumer } from 'consume-once'
import { redisUnder, removeKeys } from './support/redis.ts'
import { ownName } from './support/servers.ts'
// #region readme
import { defineConsumer, messageId } from 'consume-once'
import { redisLimit } from 'consume-once/rate-limiter-flexible'

// #endregion
const prefix = ownName('sms')
const redis = redisUnder(prefix)
const sent: number[] = []
function newConsumer(): Consumer {
  // #region readme
  const sms = defineConsumer({
    name: 'sms-sender',
    id: messageId.header('id'),
    store: memoryStore(), // redisLease({ redis }) or postgresLease({ pool }) in production
    limit: { perSecond: 40, shared: redisLimit({ redis, name: 'sms-gateway' }) },
    handle: () => void sent.push(performance.now()),
  })
  // #endregion
  return sms
}

const brokers = [new MemoryBroker(), new MemoryBroker()]
const running = await Promise.all(
  brokers.map((broker) => runMemory(broker, newConsumer(), { topic: 'sms', group: 'sms' })),
)
for (const [at, broker] of brokers.entries()) {
  for (let n = 0; n < 60; n++) broker.publish('sms', { value: Buffer.from('{}'), headers: { id: `${at}-${n}` } })
}
await Promise.all(brokers.map((broker) => broker.drained('sms', 'sms')))
await Promise.all(running.map((one) => one.stop()))
await redis.quit()
await removeKeys(prefix)
const seconds = ((sent.at(-1) ?? 0) - (sent[0] ?? 0)) / 1_000
assert.equal(sent.length, 120)
// Permits are counted in windows of a second: of three the first and the last may be short.
assert.ok(seconds > 0.95, `120 within ${seconds} s`)
console.log('120 SMS by two processes that share 40 a second')
