import { claimOf, idempotency } from '../../../adapters/http/index.ts'
import { defineConsumer, messageId, once, runInline, type Message } from '../../../src/index.ts'
import { memoryStore } from '../../../src/memory/index.ts'
import {
  runConsumer,
  viewOf,
  type ClaimRequest,
  type ReleaseOptions,
  type ReleaseVerdict,
  type LeaseStore,
  type MessageRecord,
  type Store,
  type TransactionAnswer,
  type TransactionClaim,
} from '../../../src/internal.ts'
import { InboxDatabase } from '../../../testing/stores/inbox-database.ts'
import { MemoryInbox } from '../../../testing/stores/memory-inbox.ts'
import type { MemoryTx } from '../../../testing/stores/memory-transaction.ts'
import { ManualClock } from '../../kit/manual-clock.ts'
import { RecordingSource } from '../../kit/recording-source.ts'
import { gate, steadyEntropy, type Gate } from '../../kit/rig.ts'
import { scriptedStore, type ScriptedStore } from '../../kit/scripted-store.ts'

/** What the caller is told: the effect has happened; it never will, with this call; neither, or nothing yet. */
export type Told = 'done' | 'refused' | 'open'

interface Run {
  readonly signal: AbortSignal
  readonly world: World
}

/** The function of the user. */
export type Work = (run: Run) => unknown

export type Strategy = 'lease' | 'inbox'

interface Times {
  /** How long the function may run. @defaultValue 1000 */
  readonly timeoutMs?: number | undefined
  /** From one attempt to the next. @defaultValue an hour: no second one comes in the time of a situation */
  readonly backoffMs?: number | undefined
  /** @defaultValue 5 */
  readonly maxAttempts?: number | undefined
}

/** An inbox whose database ends a transaction as the victim of a deadlock, when it is told to. */
class LosingInbox extends MemoryInbox {
  losses: number | undefined

  override async claim(request: ClaimRequest): Promise<readonly TransactionAnswer<MemoryTx>[]> {
    const answers = await super.claim(request)
    for (const answer of answers) {
      if (!('claim' in answer)) continue
      Object.defineProperty(answer.claim.transaction, 'lossesInARow', { get: () => this.losses, configurable: true })
    }
    return answers
  }

  override release(
    claims: readonly TransactionClaim<MemoryTx>[],
    how: ReleaseOptions,
  ): Promise<readonly ReleaseVerdict[]> {
    return super.release(claims, { ...how, refund: how.refund || this.losses !== undefined })
  }
}

/** A store, and time. */
export class World {
  readonly clock: ManualClock = new ManualClock()
  readonly records: Map<string, MessageRecord> = new Map()
  readonly database: InboxDatabase = new InboxDatabase()
  readonly store: ScriptedStore<never> & LeaseStore
  /** For a function that waits. */
  readonly gate: Gate<void> = gate()
  readonly timeoutMs: number
  readonly maxAttempts: number
  readonly backoff: { readonly initialMs: number; readonly maxMs: number }
  readonly #inbox: LosingInbox
  runs = 0

  constructor(strategy: Strategy, { timeoutMs = 1_000, backoffMs = 3_600_000, maxAttempts = 5 }: Times = {}) {
    this.timeoutMs = timeoutMs
    this.maxAttempts = maxAttempts
    this.backoff = { initialMs: backoffMs, maxMs: backoffMs }
    const { clock, records, database } = this
    this.#inbox = new LosingInbox({ clock, database })
    const store = strategy === 'lease' ? memoryStore({ clock, records }) : this.#inbox
    // Which of the two makes no difference to those who call it here.
    this.store = scriptedStore(store as Store) as ScriptedStore<never> & LeaseStore
  }

  /** The state of the one record there is. */
  get state(): string {
    const [record] = this.records.values()
    const [row] = this.database.rows.values()
    return record === undefined ? (row?.outcome ?? 'absent') : viewOf(record, this.clock.now()).state
  }

  /** The database has ended the transaction of the function so often in a row, through no fault of it. */
  loses(times: number | undefined): void {
    this.#inbox.losses = times
  }

  /** Another process has written the record. */
  write(change: object): void {
    for (const [key, record] of this.records) this.records.set(key, { ...record, ...change })
    for (const [key, row] of this.database.rows) this.database.rows.set(key, { ...row, ...change })
  }
}

/** One way to run the function under a claim. */
export interface Entry {
  readonly name: string
  /** What is returned calls it, with the same ID each time, and says what that call is told by now. */
  open(world: World, work: (signal: () => AbortSignal) => unknown): Promise<(payload: string) => () => Told>
}

const TIMES = { leaseMs: 3_000, graceMs: 500 }

type Handler = 'handle' | 'handleBatch'

function consumerOf(
  { store, timeoutMs, backoff, maxAttempts }: World,
  work: (signal: () => AbortSignal) => unknown,
  handler: Handler,
) {
  const settings = {
    name: 'consumer',
    id: messageId.header('id'),
    decode: (bytes: Uint8Array | null) => bytes,
    store,
    ...TIMES,
    handlerTimeoutMs: timeoutMs,
    backoff,
    maxAttempts,
    ...(maxAttempts === 1 && { batchSize: 1 }),
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

/**
 * The drop-ins of kafkajs, amqplib, BullMQ and Lambda are `runInline` with other words for what it says.
 */
export const ENTRIES: readonly Entry[] = [
  ofSource('handle'),
  ofSource('handleBatch'),
  ofInline('handle'),
  ofInline('handleBatch'),
  ONCE,
  HTTP,
]
