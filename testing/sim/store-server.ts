import type { Key, MessageRecord, Result } from '../../src/core/record.ts'
import { memoryStore } from '../../src/memory/store.ts'
import type {
  ClaimRequest,
  Positions,
  ReleaseOptions,
  SetAsideOptions,
  Store,
  StoreCalls,
  TransactionAnswer,
  TransactionClaim,
} from '../../src/ports/store.ts'
import type { End } from '../history.ts'
import { InboxDatabase } from '../stores/inbox-database.ts'
import { MemoryInbox } from '../stores/memory-inbox.ts'
import { MemoryOffsets } from '../stores/memory-offsets.ts'
import type { MemoryTx } from '../stores/memory-transaction.ts'
import { OffsetsDatabase } from '../stores/offsets-database.ts'
import type { SimProcess } from './process.ts'
import type { Effected } from './provider.ts'
import type { Stage } from './stage.ts'
import { wallAt } from './process.ts'

export type EffectTx = MemoryTx<Effected>

type State = End['records'] extends ReadonlyMap<unknown, infer S> ? S : never

/** The server of all stores of one schedule. It outlives processes. */
export interface StoreServer {
  connect(process: SimProcess): Store<EffectTx>
  /** Removes one record, as an eviction or a failover does. */
  lose(): Key | undefined
  /** States by key; by place for positions. */
  states(): ReadonlyMap<string, State>
}

/** When the server notices the connection of a dead process, after everything that it had sent. */
const NOTICED_AFTER_MS = 310

export function leaseServer(stage: Stage): StoreServer {
  const records = new Map<Key, MessageRecord>()
  // The server's clock has the true time.
  const clock = { now: () => wallAt(stage.timeline.now) }
  return {
    connect: () => memoryStore({ clock, records }), // mutant: lease-by-own-clock
    lose: () => {
      const keys = [...records.keys()]
      const key = keys.length === 0 ? undefined : stage.chance.pick(keys)
      if (key !== undefined) records.delete(key)
      return key
    },
    states: () => {
      const states = new Map<string, State>()
      for (const [key, { state }] of records) if (state !== 'absent' && state !== 'unreadable') states.set(key, state)
      return states
    },
  }
}

export function inboxServer(stage: Stage): StoreServer {
  const clock = { now: () => wallAt(stage.timeline.now) }
  const database = new InboxDatabase<Effected>()
  return {
    connect: (process) =>
      new Connections(new MemoryInbox<EffectTx, Effected>({ database, clock }), process, stage) as Store<EffectTx>,
    lose: () => undefined,
    states: () => {
      const states = new Map<string, State>()
      for (const key of database.locks.keys()) states.set(key, 'processing')
      for (const [key, { outcome }] of database.rows) states.set(key, outcome)
      return states
    },
  }
}

export function offsetsServer(stage: Stage): StoreServer {
  const database = new OffsetsDatabase<Effected>()
  return {
    connect: (process) =>
      new Connections(new MemoryOffsets<EffectTx, Effected>({ database }), process, stage) as Store<EffectTx>,
    lose: () => undefined,
    states: () => {
      const states = new Map<string, State>()
      for (const [name, { next, aside }] of database.rows) {
        const stream = name.slice(name.indexOf(' ') + 1)
        for (let offset = 0; offset < Number(next); offset++) states.set(`${stream}@${offset}`, 'done')
        if (aside !== undefined) states.set(`${stream}@${next}`, aside.as)
      }
      return states
    },
  }
}

/** The connections of one process. Its open transactions end with it, and commits are recorded as effects. */
class Connections implements StoreCalls<TransactionAnswer<EffectTx>> {
  readonly strategy: 'inbox' | 'offsets'
  readonly positions?: Positions
  readonly #store: TxStore
  readonly #stage: Stage
  readonly #effects: readonly Effected[]
  #areClosed = false

  constructor(store: TxStore, process: SimProcess, stage: Stage) {
    this.strategy = store.strategy
    if ('positions' in store) this.positions = store.positions
    this.#store = store
    this.#stage = stage
    this.#effects = store.database.effects
    process.onDeath(() => {
      stage.timeline.after(NOTICED_AFTER_MS, () => {
        this.#areClosed = true
        store.die()
      })
    })
  }

  open(): Promise<void> {
    return this.#store.open()
  }

  async claim(request: ClaimRequest): ReturnType<TxStore['claim']> {
    if (this.#areClosed) throw new TypeError('its process is gone')
    return this.#store.claim(request)
  }

  renew(claims: Claims): ReturnType<TxStore['renew']> {
    return this.#store.renew(claims)
  }

  async mark(claims: Claims, results?: readonly (Result | undefined)[]): ReturnType<TxStore['mark']> {
    const before = this.#effects.length
    const verdicts = await this.#store.mark(claims, results)
    for (const effect of this.#effects.slice(before)) {
      this.#stage.record('database', { f: 'effect', kind: 'tx', ...effect })
    }
    return verdicts
  }

  release(claims: Claims, how: ReleaseOptions): ReturnType<TxStore['release']> {
    return this.#store.release(claims, how)
  }

  setAside(claims: Claims, as: 'given-up' | 'parked', why: SetAsideOptions): ReturnType<TxStore['setAside']> {
    return this.#store.setAside(claims, as, why)
  }
}

type Claims = readonly TransactionClaim<EffectTx>[]
type TxStore = MemoryInbox<EffectTx, Effected> | MemoryOffsets<EffectTx, Effected>
