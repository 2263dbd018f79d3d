import { defineConsumer } from '../../src/consumer/define-consumer.ts'
import { TerminalError } from '../../src/foundation/errors.ts'
import type { HandlerContext } from '../../src/index.ts'
import { messageId } from '../../src/identity/message-id.ts'
import { memoryStore } from '../../src/memory/store.ts'
import type { Intake, Publisher, Source } from '../../src/ports/source.ts'
import type { LeaseStore } from '../../src/ports/store.ts'
import { runConsumer } from '../../src/run/run.ts'
import { MemoryInbox } from '../../testing/stores/memory-inbox.ts'
import { ManualClock } from '../kit/manual-clock.ts'
import { Watching } from '../kit/recording-intake.ts'
import { steadyEntropy } from '../kit/rig.ts'
import { difference, type Meter } from './consumed.ts'
import type { Counted } from './expected.ts'
import { Lockstep } from './lockstep.ts'

/** Messages that come together, while the consumer has nothing to do. */
export const ARRIVAL = 500

/** Every tenth message, where some fail. */
const ONE_OF = 10

export type Kind = 'lease' | 'handleBatch' | 'dead letters' | 'retries'

export const KINDS: Readonly<Record<Kind, string>> = {
  lease: 'lease, 256 handlers at once',
  handleBatch: 'inbox, handleBatch',
  'dead letters': 'lease, a tenth dead-lettered',
  retries: 'lease, a tenth to a retry place',
}

export interface Broker {
  readonly source: Source
  readonly publisher: Publisher
  /** Publishes so many messages, which arrive together. */
  readonly send: (ids: readonly string[]) => Promise<void>
  readonly meter: Meter
}

/** What 1,000 messages that arrive in two batches cost a consumer that has had one before. */
export async function countedFrom({ source, publisher, send, meter }: Broker, kind: Kind): Promise<Counted> {
  const gate = new Lockstep(true)
  const clock = new ManualClock()
  const watching = new Watching()
  const common = { name: 'counts', id: messageId.header('id'), observe: watching.observe, maxInFlight: 2 * ARRIVAL }
  const consumer =
    kind === 'handleBatch'
      ? defineConsumer({
          ...common,
          store: gate.through(new MemoryInbox({ clock })),
          handleBatch: () => {},
        })
      : defineConsumer({
          ...common,
          store: gate.through(inOrder(memoryStore({ clock }))),
          concurrency: 256,
          handle: handlerOf(kind),
        })
  let handedOver = 0
  const running = await runConsumer(consumer, {
    source: withIntake(source, () => handedOver++),
    publisher: gate.through(publisher),
    clock,
    entropy: steadyEntropy(),
  })
  const count = async (): Promise<Counted> => ({
    'batches handed over': handedOver,
    'round trips': gate.rounds,
    ...gate.calls,
    ...(await meter()),
  })
  let before: Counted | undefined
  try {
    for (let arrival = 0; arrival < 3; arrival++) {
      if (arrival === 1) before = await count()
      await send(Array.from({ length: ARRIVAL }, (_, at) => `${arrival}-${at}`))
      await watching.until(
        () => watching.events.filter(({ type }) => type === 'delivery').length === ARRIVAL * (arrival + 1),
      )
      await gate.rest()
    }
  } finally {
    await running.stop()
  }
  return difference(before ?? {}, await count())
}

function handlerOf(kind: Kind): (context: HandlerContext<unknown>) => void {
  return ({ message }) => {
    if (kind === 'lease' || Number(String(message.headers['id']).split('-')[1]) % ONE_OF !== 0) return
    throw kind === 'retries' ? new Error('not yet') : new TerminalError('never')
  }
}

/** As Redis is. */
function inOrder(store: LeaseStore): LeaseStore {
  return forwarding(store, 'inOrder', () => true)
}

/** `onDeliver` is called for each batch that the source hands over. */
function withIntake(source: Source, onDeliver: () => void): Source {
  const heard = (intake: Intake): Intake =>
    forwarding(intake, 'deliver', (deliver) => (...given) => {
      onDeliver()
      return deliver(...given)
    })
  return forwarding(source, 'open', (open) => (intake) => open(heard(intake)))
}

function forwarding<T extends object, K extends keyof T>(target: T, changed: K, change: (original: T[K]) => T[K]): T {
  return new Proxy(target, {
    get: (on, name) => {
      const value: unknown = Reflect.get(on, name, on)
      const bound = typeof value === 'function' ? (value.bind(on) as unknown) : value
      return name === changed ? change(bound as T[K]) : bound
    },
  })
}
