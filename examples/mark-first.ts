// At most once: the mark comes before the effect. A crash between them loses the message, and nothing happens twice.
import assert from 'node:assert/strict'
import { defineConsumer, messageId, OutcomeUnknownError } from 'consume-once'
import { MemoryBroker, runMemory } from 'consume-once/memory'
import { redisLease } from 'consume-once/redis'
import { redisUnder, removeKeys } from './support/redis.ts'
import { ownName } from './support/servers.ts'

const prefix = ownName('first')
const redis = redisUnder(prefix)
// #region readme
const store = redisLease({ redis, marks: 'before-handler' })
// #endregion

const calls: string[] = []
const alarms = defineConsumer({
  name: 'phone-alarms',
  id: messageId.header('id'),
  store,
  handle: ({ message }) => {
    const id = String(message.headers['id'])
    calls.push(id)
    // The telephone may have rung: nobody is called a second time.
    if (id === 'alarm-2') throw new OutcomeUnknownError('the line was cut')
  },
})
const broker = new MemoryBroker()
const running = await runMemory(broker, alarms, { topic: 'alarms', group: 'alarms' })
for (const id of ['alarm-1', 'alarm-1', 'alarm-2', 'alarm-2']) {
  broker.publish('alarms', { value: Buffer.from('{}'), headers: { id } })
  await broker.drained('alarms', 'alarms')
}
await running.stop()
assert.deepEqual(calls, ['alarm-1', 'alarm-2'])
console.log('4 deliveries of 2 alarms, 2 calls, whatever became of them')

await removeKeys(prefix)
await redis.quit()
