// What examples/deploy.ts consumes: two consumers of a broker in this process, and the SIGTERM that ends it.
import assert from 'node:assert/strict'
import { defineConsumer, json, messageId, type Running } from 'consume-once'
import { MemoryBroker, memoryStore, runMemory } from 'consume-once/memory'
import { eventually } from './servers.ts'

export const port = 0 // any free one

const broker = new MemoryBroker()
const topics = ['orders', 'invoices']
const handled: string[] = []

export function start(): readonly Running[] {
  const consumers = topics.map((topic) => {
    const consumer = defineConsumer({
      name: `${topic}-mailer`,
      id: messageId.header('id'),
      store: memoryStore(),
      decode: json<{ to: string }>(),
      handle: ({ payload }) => void handled.push(payload.to),
    })
    return runMemory(broker, consumer, { topic, group: 'mailers' })
  })
  void endWhenHandled(consumers)
  return consumers
}

export async function closeClients(): Promise<void> {
  assert.deepEqual(handled.toSorted(), topics.toSorted())
  console.log('two consumers ready, one message each handled, stopped by SIGTERM')
}

async function endWhenHandled(consumers: readonly Running[]): Promise<void> {
  await eventually(async () => consumers.every((one) => one.health().ready))
  for (const topic of topics) {
    broker.publish(topic, { value: Buffer.from(JSON.stringify({ to: topic })), headers: { id: 'message-1' } })
    await broker.drained(topic, 'mailers')
  }
  process.kill(process.pid, 'SIGTERM')
}
