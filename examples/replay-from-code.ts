// A replay from code: a plan, a look at it, a run that follows it, its report. On a broker in this process, as in the first minutes.
import assert from 'node:assert/strict'
import { defineConsumer, messageId, type Subscription } from 'consume-once'
import { MemoryBroker, memoryReplay, memoryStore, runMemory } from 'consume-once/memory'

const broker = new MemoryBroker()
const sent: string[] = []
const sms = defineConsumer({
  name: 'sms-sender',
  id: messageId.header('message-id'),
  store: memoryStore(),
  handle: ({ message }) => {
    sent.push(String(message.headers['message-id']))
  },
})
const subscription: Subscription = { group: 'sms', origins: ['sms'], replay: memoryReplay(broker) }
const publish = (id: string): void =>
  broker.publish('sms', { value: Buffer.from('{}'), headers: { 'message-id': id }, timestamp: Date.now() })

const running = await runMemory(broker, sms, { topic: 'sms', group: 'sms' })
for (const id of ['order-1', 'order-2']) publish(id)
await broker.drained('sms', 'sms')
await running.stop()
publish('order-3') // nobody handles it

// #region readme
import { memoryJournal, planReplay, runReplay } from 'consume-once/replay'

const plan = await planReplay(sms, subscription, { from: 'memory:sms' }).result
console.log(`${plan.buckets.done.count} are done, ${plan.toHandle} would run`)

const replay = runReplay(sms, subscription, plan, {
  by: 'ada',
  reason: 'OPS-812',
  rate: 20, // messages a second
  journal: memoryJournal(), // fileJournal(path) of consume-once/file survives the process
})
for await (const { totals, of } of replay) console.log(totals.handled, 'of', of)
const { status, totals } = await replay.result
// #endregion

assert.equal(status, 'finished')
assert.deepEqual([totals.handled, totals['done-before']], [1, 2])
assert.deepEqual(sent, ['order-1', 'order-2', 'order-3'])
