import {
  defineConsumer,
  type Consumer,
  type ConsumerSettings,
  type Observer,
  type Outcome,
  type Store,
} from 'consume-once'
import { type Delivery } from 'consume-once/spi'
import type { Job, Measurement } from '../../suite.ts'
import { Tally } from '../../tally.ts'
import type { Broker, LoadBroker } from './broker.ts'
import type { Handle } from '../handlers.ts'

/** The adapter without pipeline and store: every delivery goes to the handler, several at once, and is then settled. */
export function adapterAlone(load: LoadBroker, handle: Handle, atOnce: number): (job: Job) => Promise<Measurement> {
  return async (job) => {
    const broker = await load()
    const tally = new Tally(job, 'each-delivery')
    const source = broker.source(job)
    const waiting: Delivery[] = []
    let running = 0
    const run = async (delivery: Delivery): Promise<void> => {
      tally.started(broker.idOf(delivery.message))
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
      capacity: {
        maxInFlight: 2_000,
        handlers: atOnce,
        claims: atOnce,
        leaseMs: 30_000,
        longestRunMs: 65_000,
        maxAttempts: 5,
      },
      deliver: (deliveries) => {
        tally.arrived()
        waiting.push(...deliveries)
        startWaiting()
      },
      standingChanged: () => {},
      report: () => {},
    })
    await tally.complete
    await broker.untilSettled(job, async () => {
      await source.stopIntake()
      await source.close()
    })
    return tally.measurement()
  }
}

/** The library complete, on the given store. */
export function withStore(
  load: LoadBroker,
  store: Store,
  handle: Handle,
  settings: Settings = {},
): (job: Job) => Promise<Measurement> {
  return async (job) => {
    const broker = await load()
    const tally = new Tally(job)
    const consumer = defineConsumer({
      ...settings,
      ...commonSettings(broker, tally),
      store,
      handle: async ({ message }) => {
        tally.started(broker.idOf(message))
        await handle()
      },
    })
    return consumeAllOnce(broker, job, tally, consumer)
  }
}

/** A delivery that ended so does not come again. */
const OVER: ReadonlySet<Outcome> = new Set(['handled', 'duplicate', 'joined'])

/** The payload stays bytes, as for the others: parsing costs all the same, and would hide what differs. */
export function commonSettings({ idOf }: Broker, tally: Tally): CommonSettings {
  return {
    name: 'bench',
    id: (message) => {
      tally.arrived()
      return String(idOf(message))
    },
    decode: (bytes) => bytes,
    observe: (event) => {
      if (event.type === 'delivery' && OVER.has(event.outcome)) tally.ended(1)
    },
  }
}

/** Options of a consumer that gets the bytes as they are. */
export type Settings = Partial<Omit<ConsumerSettings<Uint8Array | null, Uint8Array | null, never>, 'onInDoubt'>>

type CommonSettings = Required<Pick<Settings, 'name' | 'id' | 'decode'>> & { readonly observe: Observer }

export async function consumeAllOnce(broker: Broker, job: Job, tally: Tally, consumer: Consumer): Promise<Measurement> {
  const stop = await broker.run(job, consumer)
  await tally.complete
  await broker.untilSettled(job, stop)
  return tally.measurement()
}
