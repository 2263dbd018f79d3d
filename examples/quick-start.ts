// The first minute: a message that arrives three times, in this process alone.
import assert from 'node:assert/strict'
// #region readme
import { defineConsumer, json, messageId } from 'consume-once'
import { MemoryBroker, memoryStore, runMemory } from 'consume-once/memory'

const sent: string[] = []
const sms = defineConsumer({
  name: 'sms-sender',
  id: messageId.header('message-id'), // what makes two deliveries the same message
  decode: json<{ to: string; text: string }>(),
  store: memoryStore(),
  handle: async ({ payload }) => void sent.push(payload.to), // the effect
})

const broker = new MemoryBroker()
const message = { value: Buffer.from('{"to":"+15550100","text":"hi"}'), headers: { 'message-id': 'sms-1' } }
for (let copy = 0; copy < 3; copy++) broker.publish('sms', message) // a producer that retries

const running = await runMemory(broker, sms, { topic: 'sms', group: 'sms' })
await broker.drained('sms', 'sms')
await running.stop()
console.log(sent) // [ '+15550100' ]
// #endregion
assert.deepEqual(sent, ['+15550100'])
