// When are two messages the same? By an ID of the business, by what they say, or by what they say within some minutes.
import assert from 'node:assert/strict'
import { defineConsumer, MemoryBroker, memoryStore, messageId, runMemory, type ConsumerSettings } from 'consume-once'

type Id = NonNullable<ConsumerSettings<unknown, unknown, never>['id']>

/** Publishes these payloads, one after the other, and returns which of them were handled, by their index. */
async function handled(id: Id, ...payloads: readonly object[]): Promise<readonly number[]> {
  const seen: number[] = []
  const consumer = defineConsumer({
    name: 'orders',
    id,
    store: memoryStore(),
    handle: ({ message }) => void seen.push(Number(message.headers['index'])),
  })
  const broker = new MemoryBroker()
  const running = await runMemory(broker, consumer, { topic: 'orders', group: 'orders' })
  for (const [index, payload] of payloads.entries()) {
    const timestamp = index * 60_000
    broker.publish('orders', {
      value: Buffer.from(JSON.stringify(payload)),
      headers: { index: String(index) },
      timestamp,
    })
    await broker.drained('orders', 'orders')
  }
  await running.stop()
  return seen
}

// By an ID in the payload: two fields make it.
const line = messageId.payload('/order/id', '/line')
const first = { order: { id: 'a' }, line: 'bc' }
assert.deepEqual(await handled(line, first, first, { order: { id: 'ab' }, line: 'c' }), [0, 2])

// By what the message says, but for the time and the place it was sent from.
const intent = messageId.fingerprint({ omit: ['/sentAt', '/geo/*'] })
const sms = { to: '+15550100', text: 'hi', sentAt: 1, geo: { lat: 52.5 } }
const again = { geo: { lat: 48.1 }, sentAt: 2, text: 'hi', to: '+15550100' }
assert.deepEqual(await handled(intent, sms, again, { ...sms, text: 'bye' }), [0, 2])

// The same within ten minutes of the message's own timestamp.
const recent = messageId.window(messageId.fingerprint({ include: ['/to', '/text'] }), { fixedMs: 10 * 60_000 })
// One message a minute: the eleventh is in the next window.
const later = Array.from({ length: 8 }, () => ({ ...sms, text: 'later' }))
assert.deepEqual(await handled(recent, sms, again, ...later, sms, sms), [0, 2, 10])

// By any of several IDs: the third shares one with the first and one with the second.
const several = [messageId.payload('/orderId'), messageId.payload('/requestId')] as const
const requests = [
  { orderId: 'a', requestId: 1 },
  { orderId: 'a', requestId: 2 },
  { orderId: 'b', requestId: 2 },
  { orderId: 'c', requestId: 3 },
]
assert.deepEqual(await handled([...several], ...requests), [0, 3])

// Only these fields must agree. A message with the same ID and another amount is dead-lettered.
const payments = defineConsumer({
  name: 'payments',
  id: messageId.payload('/id'),
  onConflict: { compare: ['/amount', '/currency'] },
  store: memoryStore(),
  handle: () => {},
})
console.log(`${payments.name}: a re-send may differ in all but amount and currency`)
