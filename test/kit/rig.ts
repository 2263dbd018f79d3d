import type { Key, MessageRecord } from '../../src/core/record.ts'
import { defineConsumer } from '../../src/consumer/define-consumer.ts'
import type { Running } from '../../src/ports/lifecycle.ts'
import { memoryStore } from '../../src/memory/store.ts'
import { messageId } from '../../src/identity/message-id.ts'
import type { ConsumerOptions, ConsumerSettings } from '../../src/consumer/options.ts'
import type { Entropy } from '../../src/ports/entropy.ts'
import type { Message } from '../../src/ports/message.ts'
import type { Observer, ObserverEvent } from '../../src/ports/observer.ts'
import type { Store } from '../../src/ports/store.ts'
import { runConsumer } from '../../src/run/run.ts'
import { ManualClock, turns } from './manual-clock.ts'
import { InboxDatabase } from '../../testing/stores/inbox-database.ts'
import { MemoryInbox } from '../../testing/stores/memory-inbox.ts'
import type { MemoryTx } from '../../testing/stores/memory-transaction.ts'
import { RecordingSource, type Sent, type TestDelivery } from './recording-source.ts'
import { scriptedStore, type ScriptedStore } from './scripted-store.ts'

/** How a consumer is written. Its effects must be the same in all of them. */
export interface Style {
  readonly strategy: 'lease' | 'inbox'
  readonly handler: 'handle' | 'handleBatch'
}

export const STYLES: readonly Style[] = [
  { strategy: 'lease', handler: 'handle' },
  { strategy: 'lease', handler: 'handleBatch' },
  { strategy: 'inbox', handler: 'handle' },
  { strategy: 'inbox', handler: 'handleBatch' },
]

/** Input of a test effect, the same in every style. */
export interface Work {
  readonly id: string
  readonly message: Message
  readonly payload: unknown
  readonly idempotencyKey: string
  readonly attempt: number
  readonly signal: AbortSignal
  readonly tx: MemoryTx | undefined
  /** The effect: in the transaction, or outside. */
  readonly apply: () => Promise<void>
}

type Settings = Omit<
  ConsumerSettings<unknown, unknown, never>,
  'store' | 'name' | 'observe' | 'rememberResult' | 'rememberFailure'
>

export interface RigOptions extends Settings {
  readonly style?: Style
  readonly effect: (work: Work) => unknown
  /**
   * One transaction at a time, and handlers that were found to be quick: what is delivered at once shares it. Otherwise
   * messages spread over idle transactions.
   */
  readonly shares?: boolean
  /** State that outlives the process; a second rig on it is a second process. */
  readonly world?: World
  readonly clock?: ManualClock
  readonly observe?: Observer
}

/** Servers, and time. */
export class World {
  readonly clock: ManualClock = new ManualClock()
  readonly records: Map<Key, MessageRecord> = new Map()
  readonly lease: Store = memoryStore({ clock: this.clock, records: this.records })
  readonly database: InboxDatabase = new InboxDatabase()
  /** Effects that happened, in order. */
  readonly effects: string[] = this.database.effects
}

/** IDs of messages whose handler does nothing. */
const QUICK = 'quick-'

const rigs = new Set<Rig>()

/** For a global `afterEach`: stops what a test left running, and finds what a stop left behind. */
export async function endRigs(): Promise<void> {
  const ended = [...rigs]
  const left: string[] = []
  for (const rig of ended) {
    rig.store.isDown = false
    const stopping = rig.running.stop({ deadlineMs: 0 }).catch(() => {})
    await rig.clock.advance(60_000)
    await stopping
    await turns()
    const missing = rig.source.deliveries.length - rig.outcomes().length
    if (missing !== 0) left.push(`${missing} deliveries without an outcome`)
    left.push(...wronglyHandedBack(rig))
  }
  const timers = new Set(ended.map(({ clock }) => clock))
  for (const { pending } of timers) if (pending > 0) left.push(`${pending} timers`)
  rigs.clear()
  if (left.length > 0) throw new Error(`left behind by a stop: ${left.join(', ')}`)
}

/** A delivery is settled, or handed back once, or neither. */
function wronglyHandedBack({ source, events }: Rig): string[] {
  const given = source.deliveries.filter(({ handBacks }) => handBacks > 0)
  const twice = given.filter(({ handBacks, settled }) => handBacks + settled > 1).length
  const ended = events.filter((event) => event.type === 'delivery' && event.outcome === 'handed-back' && !event.copied)
  const problems: string[] = []
  if (twice > 0) problems.push(`${twice} deliveries settled or handed back once more`)
  if (ended.length !== given.length) problems.push(`${given.length} deliveries handed back, ${ended.length} ended so`)
  return problems
}

/** A running consumer with time, store, source and dead-letter place in the hands of the test. */
export class Rig {
  readonly world: World
  readonly clock: ManualClock
  /** Events in order: records, marks, dead letters, settles. */
  readonly journal: string[] = []
  readonly source: RecordingSource = new RecordingSource(this.journal)
  readonly store: ScriptedStore<MemoryTx>
  readonly inbox: MemoryInbox
  readonly events: ObserverEvent[] = []
  /** IDs whose handler was started, in order. */
  readonly started: string[] = []
  /** IDs whose handler runs. */
  readonly now: Set<string> = new Set()
  /** The most that ran at once. */
  peak = 0
  #running: Running | undefined

  constructor(world: World, { strategy }: Style) {
    this.world = world
    this.clock = world.clock
    this.inbox = new MemoryInbox({ database: world.database, clock: world.clock })
    // The lease never gives a transaction, so what it says about one is never asked for.
    const lease = world.lease as unknown as Store<MemoryTx>
    this.store = scriptedStore<MemoryTx>(strategy === 'inbox' ? this.inbox : lease, this.journal)
  }

  get running(): Running {
    if (this.#running === undefined) throw new TypeError('a rig that was not started')
    return this.#running
  }

  async start({
    style = { strategy: 'lease', handler: 'handle' },
    effect,
    observe,
    world: _world,
    shares = false,
    ...settings
  }: RigOptions): Promise<void> {
    const common = {
      name: 'consumer',
      id: messageId.header('id'),
      ...(shares && style.strategy === 'inbox' ? { transactions: 1 } : {}),
      // The only attempt of a message is not shared with others.
      ...(settings.maxAttempts === 1 ? { batchSize: 1 } : {}),
      ...(settings as Omit<Settings, 'onInDoubt'>),
      store: this.store,
      observe: [
        (event: ObserverEvent): void => void this.events.push(event),
        ...(observe === undefined ? [] : [observe]),
      ],
    }
    const run = (work: Omit<Work, 'id' | 'apply'>): Promise<void> => this.#work(work, effect)
    const options: ConsumerOptions<unknown, unknown, MemoryTx> =
      style.handler === 'handle'
        ? { ...common, handle: (context) => run(withTx(context)) }
        : {
            ...common,
            handleBatch: async (context) => {
              for (const item of context.messages) await run({ ...item, signal: context.signal, tx: context.tx })
            },
          }
    const dependencies = { source: this.source, publisher: this.source, clock: this.clock, entropy: steadyEntropy() }
    this.#running = await runConsumer(defineConsumer(options), dependencies)
    rigs.add(this)
    if (shares) await this.#shareTransactions()
  }

  /** As if the process had run for a while. */
  async #shareTransactions(): Promise<void> {
    for (const count of [1, 2, 4, 8]) {
      await this.deliver(...Array.from({ length: count }, (_, at) => `${QUICK}${process.hrtime.bigint()}-${at}`))
    }
    for (const seen of [this.journal, this.events, this.started, this.store.seen, this.source.deliveries])
      seen.length = 0
    this.peak = 0
  }

  /** Delivers one batch, and waits until nothing moves but time. */
  async deliver(...sent: readonly (Sent | string)[]): Promise<TestDelivery[]> {
    const deliveries = this.source.deliver(...sent.map((one) => (typeof one === 'string' ? { id: one } : one)))
    await turns()
    return deliveries
  }

  /** One for each delivery that ended, in order. */
  outcomes(): string[] {
    return this.events.flatMap((event) => (event.type === 'delivery' ? [event.outcome] : []))
  }

  count(type: ObserverEvent['type']): number {
    return this.events.filter((event) => event.type === type).length
  }

  async #work(context: Omit<Work, 'id' | 'apply'>, effect: RigOptions['effect']): Promise<void> {
    const id = String(context.message.headers['id'])
    if (id.startsWith(QUICK)) return
    this.started.push(id)
    this.now.add(id)
    this.peak = Math.max(this.peak, this.now.size)
    try {
      await effect({
        ...context,
        // Read when it is asked for, as from the context.
        get signal() {
          return context.signal
        },
        id,
        apply: async () => {
          if (context.tx === undefined) this.world.effects.push(id)
          else await context.tx.insert(id)
        },
      })
    } finally {
      this.now.delete(id)
    }
  }
}

export async function startRig(options: RigOptions): Promise<Rig> {
  const rig = new Rig(options.world ?? new World(), options.style ?? { strategy: 'lease', handler: 'handle' })
  await rig.start(options)
  return rig
}

/** A gate that the test opens. */
export function gate<T = void>(): Gate<T> {
  const opens: ((value: T) => void)[] = []
  const opened = new Promise<T>((resolve) => void opens.push(resolve))
  return { opened, open: (value) => opens[0]?.(value) }
}

export interface Gate<T> {
  readonly opened: Promise<T>
  readonly open: (value: T) => void
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<Error> {
  return new Promise((resolve) => {
    const tell = (): void => resolve(signal.reason as Error)
    if (signal.aborted) tell()
    else signal.addEventListener('abort', tell, { once: true })
  })
}

function withTx(context: Omit<Work, 'id' | 'apply'>): Omit<Work, 'id' | 'apply'> {
  const { message, payload, idempotencyKey, attempt, tx } = context
  return {
    message,
    payload,
    idempotencyKey,
    attempt,
    tx,
    get signal() {
      return context.signal
    },
  }
}

let tokens = 0

/** Takes half of every jitter, and numbers tokens in order. */
export function steadyEntropy(): Entropy {
  return { fraction: () => 0.5, ownerToken: () => `token-${String(++tokens).padStart(6, '0')}` }
}
