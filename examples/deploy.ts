// A worker as it is deployed: health for the orchestrator, and a stop that loses and repeats nothing.
import assert from 'node:assert/strict'
import { defineConsumer, json, MemoryBroker, memoryStore, messageId, runMemory } from 'consume-once'
import { eventually } from './support/servers.ts'

const handled: string[] = []
const broker = new MemoryBroker()
const orders = defineConsumer({
  name: 'order-mailer',
  id: messageId.header('order-id'),
  store: memoryStore(),
  decode: json<{ order: string }>(),
  handle: ({ payload }) => void handled.push(payload.order),
})
const start = () => runMemory(broker, orders, { topic: 'orders', group: 'orders' })
const closeClients = async (): Promise<void> => {}
const port = 0

// #region readme
import { serveHealth } from 'consume-once/health'

const running = start() // runKafka(...) or runRabbit(...), without await: health is served while it joins
const health = await serveHealth(running, { port }) // GET /readyz and /healthz

const shutDown = async () => {
  await running.stop({ deadlineMs: 20_000 }) // handlers finish, marks are written, offsets are committed
  await health.close()
  await closeClients() // your pools and clients: the library does not close them
}
process.once('SIGTERM', () => void shutDown())

await running.ready() // rejects with the reason if the start fails
// #endregion

const { status } = await fetch(`http://127.0.0.1:${health.port}/readyz`)
assert.equal(status, 200)
broker.publish('orders', { value: Buffer.from('{"order":"order-1"}'), headers: { 'order-id': 'order-1' } })
await broker.drained('orders', 'orders')
process.kill(process.pid, 'SIGTERM')
await eventually(async () => running.health().state === 'stopped')
assert.deepEqual(handled, ['order-1'])
console.log('ready, one message handled, stopped by SIGTERM')
