// Avro with a schema registry: `decode` returns a promise. While the registry is down, messages wait, and none is lost.
import assert from 'node:assert/strict'
// #region consumer
import { SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry'
import { defineConsumer } from 'consume-once'
import { MemoryBroker, memoryStore, runMemory } from 'consume-once/memory'
// #endregion
import { eventually } from './support/servers.ts'
import { localRegistry } from './support/registry.ts'

const server = await localRegistry()
const url = server.url
// #region consumer

interface Payment {
  readonly paymentId: string
  readonly cents: number
}

const registry = new SchemaRegistry({ host: url, retry: { retries: 0 } }) // the library tries again

const charged: Payment[] = []
const payments = defineConsumer({
  name: 'charge-account',
  decode: (value): Promise<Payment> => registry.decode(Buffer.from(value ?? [])),
  id: ({ payload }) => payload.paymentId, // also read from the decoded payload
  store: memoryStore(),
  handle: ({ payload }) => void charged.push(payload),
})
// #endregion

const producer = new SchemaRegistry({ host: url })
const fields = [
  { name: 'paymentId', type: 'string' },
  { name: 'cents', type: 'int' },
]
const schema = JSON.stringify({ type: 'record', name: 'Payment', namespace: 'bank', fields })
const { id } = await producer.register({ type: SchemaType.AVRO, schema })

const broker = new MemoryBroker()
const send = async (payment: Payment): Promise<void> =>
  broker.publish('payments', { value: await producer.encode(id, payment) })
for (const paymentId of ['p-1', 'p-2', 'p-1']) await send({ paymentId, cents: 1250 })

server.isDown = true
const running = await runMemory(broker, payments, { topic: 'payments', group: 'payments' })
await eventually(async () => running.health().checks['decode'] !== undefined)
const { ready, checks } = running.health()
console.log(ready, checks['decode'])
server.isDown = false

await eventually(async () => charged.length === 2)
await broker.drained('payments', 'payments')
await running.stop()
server.close()
assert.equal(ready, false)
assert.deepEqual(
  charged.map(({ paymentId }) => paymentId),
  ['p-1', 'p-2'],
)
console.log('3 messages sent while the registry was down, 2 payments, 2 charges')
