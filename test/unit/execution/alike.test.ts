import { describe, expect, it } from '@jest/globals'
import { claimOf, idempotency } from '../../../adapters/http/index.ts'
import {
  defineConsumer,
  memoryStore,
  messageId,
  NoEffectError,
  once,
  OutcomeUnknownError,
  runInline,
  type Message,
} from '../../../src/index.ts'
import { runConsumer, viewOf, type LeaseStore, type MessageRecord, type Store } from '../../../src/spi.ts'
import { InboxDatabase } from '../../../testing/stores/inbox-database.ts'
import { MemoryInbox } from '../../../testing/stores/memory-inbox.ts'
import { ManualClock, turns } from '../../kit/manual-clock.ts'
import { RecordingSource } from '../../kit/recording-source.ts'
import { aborted, gate, steadyEntropy } from '../../kit/rig.ts'
import { scriptedStore, type ScriptedStore } from '../../kit/scripted-store.ts'

/** What the caller is told: the effect has happened; it never will, with this call; neither, or nothing yet. */
type Told = 'done' | 'refused' | 'open'

interface Run {
  readonly signal: AbortSignal
  readonly world: World
}

/** The function of the user. */
type Work = (run: Run) => unknown

type Strategy = 'lease' | 'inbox'

/** A store, and time. */
class World {
  readonly clock = new ManualClock()
  readonly records = new Map<string, MessageRecord>()
  readonly database = new InboxDatabase()
  readonly store: ScriptedStore<never> & LeaseStore
  /** For a function that waits. */
  readonly gate = gate()
  /** How long the function may run. */
  readonly timeoutMs: number
  runs = 0

  constructor(strategy: Strategy, timeoutMs: number = TIMEOUT_MS) {
    this.timeoutMs = timeoutMs
    const { clock, records, database } = this
    const store = strategy === 'lease' ? memoryStore({ clock, records }) : new MemoryInbox({ clock, database })
    // Which of the two makes no difference to those who call it here.
    this.store = scriptedStore(store as Store) as ScriptedStore<never> & LeaseStore
  }

  /** The state of the one record there is. */
  get state(): string {
    const [record] = this.records.values()
    const [row] = this.database.rows.values()
    return record === undefined ? (row?.outcome ?? 'absent') : viewOf(record, this.clock.now()).state
  }

  /** Another process has written the record. */
  write(change: object): void {
    for (const [key, record] of this.records) this.records.set(key, { ...record, ...change })
    for (const [key, row] of this.database.rows) this.database.rows.set(key, { ...row, ...change })
  }
}

/** One way to run the function under a claim. */
interface Entry {
  readonly name: string
  /** What is returned calls it, with the same ID each time, and says what that call is told by now. */
  open(world: World, work: (signal: () => AbortSignal) => unknown): Promise<(payload: string) => () => Told>
}

const TIMES = { leaseMs: 3_000, graceMs: 500 }
const TIMEOUT_MS = 1_000
/** No second attempt comes in the time of a situation. */
const BACKOFF = { initialMs: 3_600_000, maxMs: 3_600_000 }

type Handler = 'handle' | 'handleBatch'

function consumerOf({ store, timeoutMs }: World, work: (signal: () => AbortSignal) => unknown, handler: Handler) {
  const settings = {
    name: 'consumer',
    id: messageId.header('id'),
    decode: (bytes: Uint8Array | null) => bytes,
    store,
    ...TIMES,
    handlerTimeoutMs: timeoutMs,
    backoff: BACKOFF,
  }
  return handler === 'handle'
    ? defineConsumer({ ...settings, handle: async (context) => void (await work(() => context.signal)) })
    : defineConsumer({ ...settings, handleBatch: async (context) => void (await work(() => context.signal)) })
}

const messageOf = (payload: string): Message => ({
  system: 'memory',
  destination: 'queue',
  origin: 'queue',
  position: '1',
  key: null,
  value: Buffer.from(payload),
  headers: { id: 'k' },
})

const ofSource = (handler: Handler): Entry => ({
  name: `runConsumer, ${handler}`,
  async open(world, work) {
    const source = new RecordingSource()
    const { clock } = world
    await runConsumer(consumerOf(world, work, handler), { source, publisher: source, clock, entropy: steadyEntropy() })
    return (payload) => {
      const [delivery] = source.deliver({ id: 'k', bytes: Buffer.from(payload) })
      return () => {
        if (source.deadLetters.some(({ message }) => message === delivery?.message)) return 'refused'
        return delivery?.settled === 1 ? 'done' : 'open'
      }
    }
  },
})

const ofInline = (handler: Handler): Entry => ({
  name: `runInline, ${handler}`,
  async open(world, work) {
    const { clock } = world
    const options = { group: 'g', retryWaits: 'caller', clock, entropy: steadyEntropy() } as const
    const running = runInline(consumerOf(world, work, handler), options)
    await running.open()
    const toldOf = async (payload: string): Promise<Told> => {
      const { settle } = await running.handle(messageOf(payload))
      return settle === 'ack' ? 'done' : settle === 'dead-letter' ? 'refused' : 'open'
    }
    return (payload) => toldBy(toldOf(payload))
  },
})

function toldBy(answer: Promise<Told>): () => Told {
  let told: Told = 'open'
  const follow = async (): Promise<void> => {
    told = await answer
  }
  void follow()
  return () => told
}

const refusedOr = (error: unknown): Told =>
  ['ONCE_CONFLICT', 'ONCE_SET_ASIDE'].includes(String((error as { code?: unknown }).code)) ? 'refused' : 'open'

const ONCE: Entry = {
  name: 'once',
  open: async ({ store, clock, timeoutMs }, work) => {
    const options = { ...TIMES, handlerTimeoutMs: timeoutMs, clock, purge: 'never' } as const
    const fn = async ({ signal }: { signal: AbortSignal }): Promise<void> => void (await work(() => signal))
    return (payload) => toldBy(once(store, 'k', fn, { ...options, payload }).then(() => 'done', refusedOr))
  },
}

const HTTP: Entry = {
  name: 'an HTTP handler',
  async open({ store, clock, timeoutMs }, work) {
    const handler = idempotency({
      store,
      caller: () => 'ann',
      ...TIMES,
      handlerTimeoutMs: timeoutMs,
      clock,
      purge: 'never',
      whenBusy: 'wait',
    }).fetch(async (request) => {
      await work(() => claimOf(request)?.signal ?? AbortSignal.abort())
      return new Response('ok')
    })
    const headers = { 'idempotency-key': 'k' }
    const toldOf = async (body: string): Promise<Told> => {
      const { status } = await handler(new Request('http://127.0.0.1/pay', { method: 'POST', headers, body }))
      return status < 300 ? 'done' : status === 422 || status === 409 ? 'refused' : 'open'
    }
    return (payload) => toldBy(toldOf(payload).catch(() => 'open'))
  },
}

const ENTRIES: readonly Entry[] = [
  ofSource('handle'),
  ofSource('handleBatch'),
  ofInline('handle'),
  ofInline('handleBatch'),
  ONCE,
  HTTP,
]

interface Situation {
  readonly name: string
  readonly work?: Work
  /** Before the first call. */
  readonly before?: (world: World) => void
  /** What is called, and what happens meanwhile. @defaultValue one call, and two seconds */
  readonly steps?: (world: World, call: (payload?: string) => void) => Promise<void>
  /** @defaultValue 1000 */
  readonly timeoutMs?: number
  readonly runs: number
  readonly record: string
  /** On an inbox; `undefined`: there is no such thing there. @defaultValue as `record` */
  readonly onInbox?: string | undefined
  /** What each call is told, in order. @defaultValue not compared */
  readonly told?: readonly Told[]
}

const waitsForGate: Work = ({ world }) => world.gate.opened
const fails = (error: Error): Work => {
  return () => {
    throw error
  }
}

async function oneCall(world: World, call: () => void): Promise<void> {
  call()
  await world.clock.advance(2_000)
}

function leased({ clock }: World, leaseMs: number): object {
  const now = clock.now()
  return { leaseUntil: now + leaseMs, keepUntil: now + 86_400_000, attempt: 1, doubt: false }
}

const OTHER = { owner: 'another', fence: 7 }

const SITUATIONS: readonly Situation[] = [
  { name: 'it returns', runs: 1, record: 'done', told: ['done'] },
  { name: 'it throws', work: fails(new Error('no')), runs: 1, record: 'released', onInbox: 'absent', told: ['open'] },
  {
    name: 'it throws that nothing happened',
    work: fails(new NoEffectError('open')),
    runs: 1,
    record: 'released',
    onInbox: 'absent',
    told: ['open'],
  },
  {
    name: 'it throws that the outcome is unknown',
    work: fails(new OutcomeUnknownError('no answer')),
    runs: 1,
    record: 'in-doubt',
    onInbox: 'absent',
    told: ['open'],
  },
  {
    name: 'it throws when it is aborted after its time',
    work: async ({ signal }) => {
      throw await aborted(signal)
    },
    runs: 1,
    record: 'in-doubt',
    onInbox: 'absent',
    told: ['open'],
  },
  {
    name: 'it says after its time that nothing happened',
    work: async ({ signal }) => {
      await aborted(signal)
      throw new NoEffectError('stopped in time')
    },
    runs: 1,
    record: 'released',
    onInbox: 'absent',
    told: ['open'],
  },
  {
    name: 'it ends well after its time, before the grace is over',
    work: async ({ signal }) => void (await aborted(signal)),
    runs: 1,
    record: 'done',
    told: ['done'],
  },
  {
    name: 'it never ends: its lease is kept by nobody, and runs out',
    work: () => new Promise(() => {}),
    steps: async (world, call) => {
      call()
      await world.clock.advance(1_700)
    },
    runs: 1,
    record: 'processing',
    onInbox: 'absent',
  },
  {
    name: 'it ends well after the grace, when nobody waits for it',
    work: waitsForGate,
    steps: async (world, call) => {
      call()
      await world.clock.advance(1_700)
      world.gate.open()
      await turns()
    },
    runs: 1,
    record: 'done',
    onInbox: 'absent',
  },
  {
    name: 'the store is down at the claim, for two seconds',
    before: ({ store }) => void (store.isDown = true),
    steps: async (world, call) => {
      call()
      await world.clock.advance(2_000)
      world.store.isDown = false
      await world.clock.advance(5_000)
    },
    runs: 1,
    record: 'done',
    told: ['done'],
  },
  {
    name: 'the answer to the claim is lost',
    before: ({ store }) => store.script('claim', 'lose-reply'),
    runs: 1,
    record: 'done',
    told: ['done'],
  },
  {
    name: 'the answer to the mark is lost',
    before: ({ store }) => store.script('mark', 'lose-reply'),
    runs: 1,
    record: 'done',
    told: ['done'],
  },
  {
    name: 'the store is down at the mark, for a second',
    work: ({ world }) => void (world.store.isDown = true),
    steps: async (world, call) => {
      call()
      await world.clock.advance(1_000)
      world.store.isDown = false
      await world.clock.advance(5_000)
    },
    runs: 1,
    record: 'done',
    told: ['done'],
  },
  {
    name: 'the release of a failure is not answered, for a second',
    work: ({ world }) => {
      world.store.script('release', 'lose-request', 'lose-reply')
      throw new Error('no')
    },
    runs: 1,
    record: 'released',
    onInbox: 'absent',
  },
  {
    name: 'another owner takes the lease while it runs',
    // It is aborted for its lease, not for its time.
    timeoutMs: 60_000,
    work: async ({ signal }) => {
      throw await aborted(signal)
    },
    steps: async (world, call) => {
      call()
      await turns()
      world.write({ ...OTHER, leaseUntil: world.clock.now() + 600_000 })
      await world.clock.advance(2_000)
    },
    runs: 1,
    record: 'processing',
    onInbox: undefined,
  },
  {
    name: 'the store is down until its lease ends',
    // It is aborted for its lease, not for its time.
    timeoutMs: 60_000,
    work: async ({ signal }) => {
      throw await aborted(signal)
    },
    steps: async (world, call) => {
      call()
      await turns()
      world.store.isDown = true
      await world.clock.advance(5_000)
      expect(world.state).toBe('in-doubt')
    },
    runs: 1,
    record: 'in-doubt',
    onInbox: undefined,
  },
  {
    name: 'it comes again when it is done',
    steps: async (world, call) => {
      await oneCall(world, call)
      await oneCall(world, call)
    },
    runs: 1,
    record: 'done',
    told: ['done', 'done'],
  },
  {
    name: 'it comes again while it runs',
    work: waitsForGate,
    steps: async (world, call) => {
      call()
      call()
      await turns()
      world.gate.open()
      await world.clock.advance(2_000)
    },
    runs: 1,
    record: 'done',
    told: ['done', 'done'],
  },
  {
    name: 'it comes again with another payload when it is done',
    steps: async (world, call) => {
      await oneCall(world, call)
      await oneCall(world, () => call('another'))
    },
    runs: 1,
    record: 'done',
    told: ['done', 'refused'],
  },
  {
    name: 'another process is busy with it',
    steps: async (world, call) => {
      await oneCall(world, call)
      world.write({ ...OTHER, state: 'processing', ...leased(world, 60_000) })
      await oneCall(world, call)
    },
    runs: 1,
    record: 'processing',
    onInbox: undefined,
    told: ['done', 'open'],
  },
  {
    name: 'another process died with it',
    steps: async (world, call) => {
      await oneCall(world, call)
      world.write({ ...OTHER, state: 'processing', ...leased(world, -1) })
      await oneCall(world, call)
    },
    runs: 2,
    record: 'done',
    onInbox: undefined,
    told: ['done', 'done'],
  },
  {
    name: 'a person must decide about it',
    steps: async (world, call) => {
      await oneCall(world, call)
      const aside = { state: 'parked', outcome: 'parked', reason: 'in-doubt', attempt: 1, since: world.clock.now() }
      world.write(aside)
      await oneCall(world, call)
    },
    runs: 1,
    record: 'parked',
    told: ['done', 'refused'],
  },
]

const CELLS = SITUATIONS.flatMap((situation) =>
  ENTRIES.flatMap((entry) => [
    { strategy: 'lease' as const, situation, entry, record: situation.record },
    {
      strategy: 'inbox' as const,
      situation,
      entry,
      record: 'onInbox' in situation ? situation.onInbox : situation.record,
    },
  ]),
).filter(({ record }) => record !== undefined)

describe('a function under a claim', () => {
  it.each(CELLS.map((cell) => [cell.situation.name, cell.entry.name, cell.strategy, cell] as const))(
    'ends alike everywhere when %s: %s, %s',
    async (_situation, _entry, strategy, { situation, entry: used, record }) => {
      const { before, work = () => {}, steps = oneCall, runs, told } = situation
      const world = new World(strategy, situation.timeoutMs)
      before?.(world)
      const entry = await used.open(world, (signal) => {
        world.runs++
        return work({
          world,
          get signal() {
            return signal()
          },
        })
      })
      const calls: (() => Told)[] = []
      await steps(world, (payload = 'a') => void calls.push(entry(payload)))
      await turns()
      const now = calls.map((look) => look())
      expect({ runs: world.runs, record: world.state, told: now }).toEqual({ runs, record, told: told ?? now })
    },
  )
})
