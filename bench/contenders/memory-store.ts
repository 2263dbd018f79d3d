import { setImmediate as nextTurn } from 'node:timers/promises'
import { defineConsumer, MemoryBroker, memoryStore, messageId, runMemory } from 'consume-once'
import type { Job, Measurement } from '../suite.ts'
import { ID_HEADER, Tally } from '../tally.ts'

/** The library alone: on a broker and a store in memory. */
export async function library(job: Job): Promise<Measurement> {
  const { messages } = job
  const broker = new MemoryBroker()
  for (let n = 0; n < messages; n++) {
    broker.publish('t', { value: Buffer.alloc(200), headers: { [ID_HEADER]: Buffer.from(`${n}`) } })
  }
  const tally = new Tally(job)
  const consumer = defineConsumer({
    name: 'bench',
    id: messageId.header(ID_HEADER),
    decode: (bytes) => bytes,
    store: memoryStore(),
    handle: async ({ message }) => tally.started(message.headers[ID_HEADER]),
    observe: (event) => {
      if (event.type === 'marks') tally.ended(event.count)
    },
  })
  tally.arrived()
  await runMemory(broker, consumer, { topic: 't', group: 'g' })
  await tally.complete
  return tally.measurement()
}

/** What a user would write without any store: an async handler, a Set of IDs, 64 at a time. */
export async function bareLoop(job: Job): Promise<Measurement> {
  const ids = Array.from({ length: job.messages }, (_, n) => Buffer.from(`${n}`))
  const seen = new Set<string>()
  const tally = new Tally(job)
  const handle = async (id: Buffer): Promise<void> => tally.started(id)
  const once = async (id: Buffer): Promise<void> => {
    const text = id.toString()
    if (seen.has(text)) return
    seen.add(text)
    await handle(id)
  }
  tally.arrived()
  for (let at = 0; at < ids.length; at += 64) {
    const batch = ids.slice(at, at + 64)
    await Promise.all(batch.map(once))
    tally.ended(batch.length)
    await nextTurn()
  }
  return tally.measurement()
}
