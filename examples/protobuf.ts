// Protobuf by its .proto file, and with a schema registry.
import assert from 'node:assert/strict'
import { SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry'
// #region readme
import protobuf from 'protobufjs'
import { defineConsumer } from 'consume-once'
import { memoryStore } from 'consume-once/memory'
// #endregion
import { MemoryBroker, runMemory } from 'consume-once/memory'
import { localRegistry } from './support/registry.ts'

// #region readme

const proto = 'syntax = "proto3"; package bank; message Payment { string payment_id = 1; int64 cents = 2; }'

interface Payment {
  readonly paymentId: string
  readonly cents: string
}

const type = protobuf.parse(proto).root.lookupType('bank.Payment') // from a file: (await protobuf.load('bank.proto'))

const charged: Payment[] = []
const payments = defineConsumer({
  name: 'charge-account',
  // Fields that the producer left out get their defaults. int64 as text: a number has 53 bits.
  decode: (value) =>
    type.toObject(type.decode(value ?? new Uint8Array()), { defaults: true, longs: String }) as Payment,
  id: ({ payload }) => payload.paymentId,
  onConflict: 'duplicate', // one message may be written in different bytes
  store: memoryStore(),
  handle: ({ payload }) => void charged.push(payload),
})
// #endregion

const broker = new MemoryBroker()
const running = await runMemory(broker, payments, { topic: 'payments', group: 'payments' })
const encoded = (payment: object): Buffer => Buffer.from(type.encode(type.create(payment)).finish())
const whole = encoded({ paymentId: 'p-1', cents: 1250 })
/** The fields in another order, as another language may write them. */
const reordered = Buffer.concat([encoded({ cents: 1250 }), encoded({ paymentId: 'p-1' })])
for (const value of [whole, reordered, encoded({ cents: 1250 }), Buffer.from('no Protobuf')]) {
  broker.publish('payments', { value })
  await broker.drained('payments', 'payments')
}
await running.stop()
assert.notDeepEqual(whole, reordered)
assert.deepEqual(
  broker.deadLetters.map(({ reason }) => reason),
  ['no-id', 'undecodable'],
)
assert.deepEqual(charged, [{ paymentId: 'p-1', cents: '1250' }])

// The registry's client takes off what stands before the message: a 0, the ID of the schema, and a 0 for its first message.
const server = await localRegistry()
const registry = new SchemaRegistry({ host: server.url, retry: { retries: 0 } })
const { id } = await registry.register({ type: SchemaType.PROTOBUF, schema: proto }, { subject: 'payments-value' })
const decoded = (await registry.decode(Buffer.concat([Buffer.from([0, 0, 0, 0, id, 0]), whole]))) as Payment
server.close()
assert.equal(decoded.paymentId, 'p-1')
assert.equal(typeof decoded.cents, 'object')
console.log('4 messages: 1 charge, 1 duplicate in other bytes, 2 dead letters')
