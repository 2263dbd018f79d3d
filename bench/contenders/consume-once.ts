import {
  defineConsumer,
  messageId,
  type Consumer,
  type ConsumerSettings,
  type Delivery,
  type Store,
} from 'consume-once'
import { kafkaBroker, runKafka } from 'consume-once/kafkajs'
import type { Job, Measurement } from '../suite.ts'
import { ID_HEADER, Tally } from '../tally.ts'
import { allCommitted, clientOf } from './kafka-client.ts'
import type { Handle } from './kafkajs.ts'

/** The adapter without pipeline and store: every delivery goes to the handler, so many at once, and is then settled. */
export function adapterAlone(handle: Handle, atOnce: number): (job: Job) => Promise<Measurement> {
  return async (job) => {
    const tally = new Tally(job.messages)
    const { source } = kafkaBroker(clientOf(job), { topics: [job.topic], groupId: job.name })
    const waiting: Delivery[] = []
    let running = 0
    const run = async (delivery: Delivery): Promise<void> => {
      tally.started(delivery.message.headers[ID_HEADER])
      await handle()
      delivery.settle()
      tally.ended(1)
      running--
      startWaiting()
    }
    let next = 0
    const startWaiting = (): void => {
      for (; running < atOnce && next < waiting.length; running++) {
        const delivery = waiting[next++]
        if (delivery !== undefined) void run(delivery)
      }
      if (next < waiting.length) return
      waiting.length = next = 0
    }
    await source.open({
      capacity: { maxInFlight: 2_000, handlers: atOnce },
      deliver: (deliveries) => {
        tally.arrived()
        waiting.push(...deliveries)
        startWaiting()
      },
      standingChanged: () => {},
      report: () => {},
    })
    await tally.complete
    await allCommitted(job)
    return tally.measurement()
  }
}

/** The library complete, on the given store. */
export function withStore(store: Store, handle: Handle, settings: Settings = {}): (job: Job) => Promise<Measurement> {
  return async (job) => {
    const tally = new Tally(job.messages)
    const consumer = defineConsumer({
      ...settings,
      ...commonSettings(tally),
      store,
      handle: async ({ message }) => {
        tally.started(message.headers[ID_HEADER])
        await handle()
      },
    })
    return consumeAllOnce(job, tally, consumer)
  }
}

const idOf = messageId.header(ID_HEADER)

/** The payload stays bytes, as for the others: parsing costs all the same, and would hide what differs. */
export function commonSettings(tally: Tally): CommonSettings {
  return {
    name: 'bench',
    id: (message) => {
      tally.arrived()
      return idOf(message)
    },
    decode: (bytes) => bytes,
    observe: (event) => {
      if (event.type === 'marks') tally.ended(event.count)
    },
  }
}

/** Options of a consumer that gets the bytes as they are. */
export type Settings = Partial<ConsumerSettings<Uint8Array | null, Uint8Array | null, never>>

type CommonSettings = Required<Pick<Settings, 'name' | 'id' | 'decode' | 'observe'>>

export async function consumeAllOnce(job: Job, tally: Tally, consumer: Consumer): Promise<Measurement> {
  await runKafka(clientOf(job), consumer, { topics: [job.topic], groupId: job.name })
  await tally.complete
  await allCommitted(job)
  return tally.measurement()
}
