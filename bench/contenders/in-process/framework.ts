import { defineConsumer, messageId, runInline, type Consumer } from 'consume-once'
import { memoryStore, MemoryBroker, runMemory } from 'consume-once/memory'
import { runConsumer, type Publisher } from 'consume-once/spi'
import type { Job, Measurement } from '../../suite.ts'
import { ID_HEADER, type Tally } from '../../tally.ts'
import { messagesOf } from './messages.ts'
import { PreparedSource, type Pace } from './prepared-source.ts'
import type { Settings } from '../library/consume-once.ts'
import { warmed } from './warmed.ts'

type Run = (job: Job) => Promise<Measurement>

/** Nothing fails here. */
const publisher: Publisher = {
  deadLetter: async ({ detail }) => {
    throw new Error(`expected no dead letter, got ${detail}`)
  },
}

const COMMON = { name: 'bench', id: messageId.header(ID_HEADER), decode: (bytes: Uint8Array | null) => bytes } as const

/** `handle` for each message, on the memory store. */
export function handleEach(pace: Pace, settings: Settings = {}): Run {
  return overPrepared(pace, (tally) =>
    defineConsumer({
      ...settings,
      ...COMMON,
      store: memoryStore(),
      handle: async ({ message }) => tally.started(message.headers[ID_HEADER]),
    }),
  )
}

/** `handle` for each message with so many IDs, all of them its own, on the memory store. */
export function handleIdentified(pace: Pace, identities: 1 | 2): Run {
  const { id } = COMMON
  return overPrepared(pace, (tally) =>
    defineConsumer({
      ...COMMON,
      id: identities === 1 ? id : [id, ({ headers }) => `order ${String(headers[ID_HEADER])}`],
      store: memoryStore(),
      handle: async ({ message }) => tally.started(message.headers[ID_HEADER]),
    }),
  )
}

/** `handleBatch`, on the memory store. */
export function handleInBatches(pace: Pace, batchSize: number): Run {
  return overPrepared(pace, (tally) =>
    defineConsumer({
      ...COMMON,
      store: memoryStore(),
      batchSize,
      concurrency: 2 * batchSize,
      handleBatch: async ({ messages }) => {
        for (const { message } of messages) tally.started(message.headers[ID_HEADER])
      },
    }),
  )
}

function overPrepared(pace: Pace, consumerOf: (tally: Tally) => Consumer): Run {
  return warmed(async (job, tally) => {
    const source = new PreparedSource(messagesOf(job), tally, pace)
    const running = await runConsumer(consumerOf(tally), { source, publisher })
    await tally.complete
    await running.stop()
  })
}

/** `handle()` of a consumer without a source, one message at a time. */
export const handleAwaited: Run = warmed(async (job, tally) => {
  const consumer = defineConsumer({
    ...COMMON,
    store: memoryStore(),
    handle: async ({ message }) => tally.started(message.headers[ID_HEADER]),
  })
  const running = runInline(consumer, { group: 'bench' })
  await running.open()
  const messages = messagesOf(job)
  tally.arrived()
  for (const message of messages) {
    const { outcome } = await running.handle(message)
    if (outcome !== 'handled') throw new Error(`expected handled, got ${outcome}`)
    tally.ended(1)
  }
  await running.stop()
})

/** With the broker that tests and demos run on. */
export const onMemoryBroker: Run = warmed(async (job, tally) => {
  const broker = new MemoryBroker()
  for (const { value, headers } of messagesOf(job)) broker.publish('t', { value, headers })
  const consumer = defineConsumer({
    ...COMMON,
    store: memoryStore(),
    handle: async ({ message }) => tally.started(message.headers[ID_HEADER]),
    observe: (event) => {
      if (event.type === 'delivery' && event.outcome === 'handled') tally.ended(1)
    },
  })
  tally.arrived()
  const running = await runMemory(broker, consumer, { topic: 't', group: 'g' })
  await tally.complete
  await running.stop()
})
