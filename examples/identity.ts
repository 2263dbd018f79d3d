// When are two messages the same? By an ID of the business, by what they say, or by what they say within some minutes.
import assert from 'node:assert/strict'
import {
  cloudEvent,
  defineConsumer,
  json,
  messageId,
  runInline,
  type Consumer,
  type ConsumerSettings,
  type Message,
} from 'consume-once'
import { MemoryBroker, memoryStore, runMemory } from 'consume-once/memory'

type Id = NonNullable<ConsumerSettings<unknown, unknown, never>['id']>

/** The fields of a payload, and its headers. */
type Sent = Readonly<Record<string, unknown>> & { readonly headers?: Readonly<Record<string, string>> }

/** Publishes these messages, one a minute and one after the other. */
async function publish(consumer: Consumer, messages: readonly Sent[]): Promise<MemoryBroker> {
  const broker = new MemoryBroker()
  const running = await runMemory(broker, consumer, { topic: 'orders', group: 'orders' })
  for (const [index, { headers, ...payload }] of messages.entries()) {
    broker.publish('orders', {
      value: Buffer.from(JSON.stringify(payload)),
      headers: { ...headers, index: String(index) },
      timestamp: index * 60_000,
    })
    await broker.drained('orders', 'orders')
  }
  await running.stop()
  return broker
}

/** Which of these messages were handled, by their index. */
async function handled(id: Id, ...messages: readonly Sent[]): Promise<readonly number[]> {
  const seen: number[] = []
  const consumer = defineConsumer({
    name: 'orders',
    id,
    store: memoryStore(),
    handle: ({ message }) => void seen.push(Number(message.headers['index'])),
  })
  await publish(consumer, messages)
  return seen
}

// By an ID in the payload: two fields make it.
// #region pointers
const byOrderLine = messageId.payload('/order/id', '/line')
// #endregion
const first = { order: { id: 'a' }, line: 'bc' }
assert.deepEqual(await handled(byOrderLine, first, first, { order: { id: 'ab' }, line: 'c' }), [0, 2])

// By what the message says: all of it but some fields, or only some fields.
// #region fingerprint
const byContent = messageId.fingerprint({ omit: ['/sentAt', '/geo/*'] })
const byText = messageId.fingerprint({ include: ['/to', '/text'], scope: messageId.header('tenant') })
// #endregion
const sms = { to: '+15550100', text: 'hi', sentAt: 1, geo: { lat: 52.5 } }
const again = { geo: { lat: 48.1 }, sentAt: 2, text: 'hi', to: '+15550100' }
assert.deepEqual(await handled(byContent, sms, again, { ...sms, text: 'bye' }), [0, 2])
const [acme, globex] = [{ headers: { tenant: 'acme' } }, { headers: { tenant: 'globex' } }]
assert.deepEqual(await handled(byText, { ...sms, ...acme }, { ...again, ...acme }, { ...sms, ...globex }), [0, 2])

// The same within ten minutes of the message's own timestamp.
// #region window
const recent = messageId.window(messageId.fingerprint({ include: ['/to', '/text'] }), { fixedMs: 10 * 60_000 })
// #endregion
// One message a minute: the eleventh is in the next window.
const later = Array.from({ length: 8 }, () => ({ ...sms, text: 'later' }))
assert.deepEqual(await handled(recent, sms, again, ...later, sms, sms), [0, 2, 10])

// By any of several IDs: the third shares one with the first and one with the second.
// #region several
const byOrderOrMessage = [messageId.payload('/orderId'), messageId.header('message-id')] as const
// #endregion
const requests = [
  { orderId: 'a', headers: { 'message-id': '1' } },
  { orderId: 'a', headers: { 'message-id': '2' } },
  { orderId: 'b', headers: { 'message-id': '2' } },
  { orderId: 'c', headers: { 'message-id': '3' } },
]
assert.deepEqual(await handled(byOrderOrMessage, ...requests), [0, 3])

// The same ID with another amount is a conflict and is dead-lettered.
const store = memoryStore()
const charged: number[] = []
const charge = (payload: { readonly amount: number }): void => void charged.push(payload.amount)
// #region conflict
const payments = defineConsumer({
  name: 'payments',
  id: messageId.payload('/id'),
  onConflict: { compare: ['/amount', '/currency'] }, // only these fields must agree; 'duplicate' compares nothing
  decode: json<{ amount: number; currency: string }>(),
  store,
  handle: ({ payload }) => charge(payload),
})
// #endregion
const payment = { id: 'p-1', amount: 100, currency: 'EUR', sentAt: 1 }
const broker = await publish(payments, [payment, { ...payment, sentAt: 2 }, { ...payment, amount: 1 }])
assert.deepEqual(charged, [100])
assert.deepEqual(
  broker.deadLetters.map(({ reason }) => reason),
  ['conflict'],
)

// Where an ID may come from: with each of these, a message that is delivered twice is handled once.
interface Payment {
  readonly paymentId: string
}
// #region ids
const fromField = ({ payload }: { readonly payload: Payment }) => payload.paymentId // a function of the message
const fromHeader = messageId.header('payment-id')
const fromProperty = messageId.property() // AMQP's messageId property
const fromEvent = cloudEvent() // source and id of a CloudEvent
const fromPointers = messageId.payload('/order/id', '/line') // from the payload, by JSON Pointers
const fromContent = messageId.fingerprint({ omit: ['/sentAt'] }) // no ID at all: what the message says
// #endregion
const message: Message = {
  system: 'rabbitmq',
  destination: 'payments',
  origin: 'payments',
  position: '1',
  key: null,
  value: Buffer.from('{"paymentId":"p-1","order":{"id":"a"},"line":1}'),
  headers: { 'payment-id': 'p-1', 'cloudEvents:id': 'e-1', 'cloudEvents:source': '/shop' },
  messageId: 'm-1',
}
for (const id of [fromField, fromHeader, fromProperty, fromEvent, fromPointers, fromContent]) {
  const consumer = defineConsumer({ name: 'payments', id, store: memoryStore(), decode: json<Payment>(), handle() {} })
  const running = runInline(consumer, { group: 'payments' })
  await running.open()
  const outcomes = [await running.handle(message), await running.handle(message)].map(({ outcome }) => outcome)
  assert.deepEqual(outcomes, ['handled', 'duplicate'])
  await running.stop()
}
console.log('eleven ways to say which messages are the same, and each message was handled once')
