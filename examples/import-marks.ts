// Messages that another consumer handled are imported as done: they do not run here.
import assert from 'node:assert/strict'
import { adminOf, defineConsumer, json, messageId } from 'consume-once'
import { MemoryBroker, memoryStore, runMemory } from 'consume-once/memory'

const charged: string[] = []
const payments = defineConsumer({
  name: 'charge-account',
  id: messageId.header('payment-id'),
  store: memoryStore(), // postgresInbox({ pool })
  decode: json<{ id: string }>(),
  handle: ({ payload }) => void charged.push(payload.id),
})
const finishedIds = ['payment-1', 'payment-2']

// #region readme
await adminOf(payments, { group: 'payments', origins: ['payments'] }).import(finishedIds, {
  by: 'deploy-2026-11',
  reason: 'handled by the old consumer',
})
// #endregion

const broker = new MemoryBroker()
for (const id of ['payment-2', 'payment-3']) {
  broker.publish('payments', { value: Buffer.from(JSON.stringify({ id })), headers: { 'payment-id': id } })
}
const running = await runMemory(broker, payments, { topic: 'payments', group: 'payments' })
await broker.drained('payments', 'payments')
await running.stop()
assert.deepEqual(charged, ['payment-3'])
console.log('a payment of the old consumer was not charged again')
