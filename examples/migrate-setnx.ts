// From a hand-written SET NX to a consumer, and back: for as long as the old keys live, the handler asks for them, and for
// as long as you may go back, it writes them.
import assert from 'node:assert/strict'
import { Redis } from 'ioredis'
// #region readme
import { defineConsumer, json, messageId } from 'consume-once'
import { redisLease } from 'consume-once/redis'

// #endregion
import { type Consumer } from 'consume-once'
import { MemoryBroker, runMemory } from 'consume-once/memory'
import { ownName, redisUrl } from './support/servers.ts'

const redis = new Redis(redisUrl())
const prefix = ownName('migrate')
const oldKey = (id: string): string => `${prefix}-processed:${id}`
const sent: string[] = []
const deliver = async (consumer: Consumer, ids: readonly string[]): Promise<void> => {
  const broker = new MemoryBroker()
  for (const id of ids) broker.publish('sms', { value: Buffer.from(JSON.stringify({ id })), headers: { id } })
  const running = await runMemory(broker, consumer, { topic: 'sms', group: 'sms' })
  await broker.drained('sms', 'sms')
  await running.stop()
}
// What the old consumer left: it set this key before it sent the SMS.
await redis.set(oldKey('sms-1'), '1', 'EX', 86_400, 'NX')

// #region readme
const duringTheMove = defineConsumer({
  name: 'sms-sender',
  id: messageId.header('id'),
  decode: json<{ id: string }>(),
  store: redisLease({ redis, prefix }),
  handle: async ({ payload, skip }) => {
    if ((await redis.exists(oldKey(payload.id))) === 1) return skip('handled by the old consumer')
    sent.push(payload.id)
    await redis.set(oldKey(payload.id), '1', 'EX', 86_400).catch(() => {}) // the way back
    return undefined
  },
})
// #endregion
await deliver(duringTheMove, ['sms-1', 'sms-3', 'sms-3'])
assert.deepEqual(sent, ['sms-3'])

// The way back: the old consumer is delivered all of it again, and repeats nothing.
for (const id of ['sms-1', 'sms-3']) {
  if ((await redis.set(oldKey(id), '1', 'EX', 86_400, 'NX')) === 'OK') sent.push(id)
}
assert.deepEqual(sent, ['sms-3'])

console.log('an SMS of the old consumer was not sent again')

for await (const keys of redis.scanStream({ match: `${prefix}*` })) {
  if ((keys as string[]).length > 0) await redis.del(keys as string[])
}
redis.disconnect()
