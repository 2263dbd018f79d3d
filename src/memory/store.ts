import type {
  Key,
  MarkVerdict,
  MessageRecord,
  Result,
  ReleaseVerdict,
  RenewVerdict,
  SetAsideVerdict,
} from '../core/record.ts'
import { viewOf } from '../core/record.ts'
import { transition } from '../core/transition.ts'
import type { DurationMs } from '../core/units.ts'
import { having, optionsOf, type Table } from '../foundation/options.ts'
import { clockOption } from '../foundation/system-options.ts'
import { checkFindings } from '../foundation/check-findings.ts'
import type { CheckFinding } from '../ports/checkup.ts'
import type { Clock } from '../ports/clock.ts'
import type { ListQuery, RecordPage, StoreAdmin } from '../ports/store-admin.ts'
import { memoryAdmin, pageIn, type MemoryRecords } from './admin.ts'
import { MemoryHistory } from './history.ts'
import type { Claim, ClaimRequest, LeaseAnswer, LeaseStore, ReleaseOptions, SetAsideOptions } from '../ports/store.ts'

const { broken } = checkFindings('memory', {
  durability: { startsBecause: 'It is the store for tests and first steps.' },
})

export interface MemoryStoreOptions {
  /** @defaultValue the system clock */
  readonly clock?: Pick<Clock, 'now'>
  /**
   * The records. Two stores on one Map behave like two processes on one server. To simulate a loss, delete a record
   * from it.
   * @defaultValue a new Map
   */
  readonly records?: Map<Key, MessageRecord>
}

export const MEMORY_STORE: Table<MemoryStoreOptions, 'records'> = {
  clock: clockOption(),
  records: having('a Map', 'get', 'set'),
}

/**
 * The reference store: `transition()` and a Map. For tests, demos and single processes that may lose their records on
 * exit. Retention is checked when a key is used again; `admin.purge` frees the memory of the other expired records.
 *
 * @throws ConfigError `CONFIG_INVALID` for an unknown option
 */
export function memoryStore(options: MemoryStoreOptions = {}): LeaseStore {
  const { clock, records = new Map() } = optionsOf('memoryStore', MEMORY_STORE, options)
  return new MemoryStore(clock, records)
}

/** Two stores on one Map also share what is kept beside the records. */
const histories = new WeakMap<Map<Key, MessageRecord>, MemoryHistory>()

function historyOf(records: Map<Key, MessageRecord>): MemoryHistory {
  const history = histories.get(records) ?? new MemoryHistory()
  histories.set(records, history)
  return history
}

class MemoryStore implements LeaseStore {
  readonly strategy = 'lease'
  readonly name = 'memory-lease'
  readonly inOrder = true
  readonly admin: StoreAdmin
  readonly #clock: Pick<Clock, 'now'>
  readonly #records: Map<Key, MessageRecord>
  readonly #history: MemoryHistory

  constructor(clock: Pick<Clock, 'now'>, records: Map<Key, MessageRecord>) {
    this.#clock = clock
    this.#records = records
    this.#history = historyOf(records)
    const ofStore: MemoryRecords = {
      view: (key) => viewOf(this.#record(key), clock.now()),
      list: (query, isOf) => this.#list(query, isOf),
      decide: (key, decision, retentionMs) => this.#move<'decide'>(key, { command: 'decide', decision, retentionMs }),
      purge: ({ limit }) => this.#purge(limit),
      recordsEnd: true,
    }
    this.admin = memoryAdmin(ofStore, clock, this.#history)
  }

  async open(): Promise<void> {}

  async checkup(): Promise<readonly CheckFinding[]> {
    const meaning =
      'They end with it, and no other process sees them: what is delivered again after that runs again. Take redisLease, postgresInbox or another store.'
    return [broken('durability', 'records in the memory of this process', meaning)]
  }

  async claim({ token, leaseMs, retentionMs, alone, scope, items }: ClaimRequest): Promise<readonly LeaseAnswer[]> {
    const now = this.#clock.now()
    this.#history.used(scope, { items, records: this.#records, now, retentionMs })
    return items.map(({ key, digest }): LeaseAnswer => {
      const command = { command: 'claim', token, digest, leaseMs, retentionMs, alone } as const
      const { next, verdict: answer } = transition<'claim'>(this.#record(key), command, now)
      this.#records.set(key, next)
      if (!('fence' in answer)) return answer
      const { verdict, fence, attempt } = answer
      return { verdict, fence, attempt, claim: { key, digest, scope, token, fence, attempt, retentionMs } }
    })
  }

  async renew(claims: readonly Claim[], leaseMs: DurationMs): Promise<readonly RenewVerdict[]> {
    return claims.map(({ key, token }) => this.#move<'renew'>(key, { command: 'renew', token, leaseMs }))
  }

  async mark(claims: readonly Claim[], results: readonly (Result | undefined)[] = []): Promise<readonly MarkVerdict[]> {
    return claims.map(({ key, token, digest, fence, retentionMs }, at) =>
      this.#move<'mark'>(key, { command: 'mark', token, digest, fence, retentionMs, result: results[at] }),
    )
  }

  async release(claims: readonly Claim[], how: ReleaseOptions): Promise<readonly ReleaseVerdict[]> {
    return claims.map(({ key, token }) => this.#move<'release'>(key, { ...how, command: 'release', token }))
  }

  async setAside(
    claims: readonly Claim[],
    as: 'given-up' | 'parked',
    why: SetAsideOptions,
  ): Promise<readonly SetAsideVerdict[]> {
    return claims.map(({ key, token }) => this.#move<'set-aside'>(key, { ...why, command: 'set-aside', token, as }))
  }

  #list(query: ListQuery, isOf: (key: Key) => boolean): RecordPage {
    const now = this.#clock.now()
    const own = [...this.#records].filter(([key]) => isOf(key))
    return pageIn(
      own.map(([key, record]) => ({ key, ...viewOf(record, now) })),
      query,
    )
  }

  #purge(limit: number): { readonly removed: number; readonly more: boolean } {
    const now = this.#clock.now()
    let removed = 0
    for (const [key, record] of this.#records) {
      if (viewOf(record, now).state !== 'absent') continue
      if (removed === limit) return { removed, more: true }
      this.#records.delete(key)
      removed++
    }
    this.#history.forgetAllBut(this.#records)
    return { removed, more: false }
  }

  #record(key: Key): MessageRecord {
    return this.#records.get(key) ?? { state: 'absent' }
  }

  #move<C extends 'renew' | 'mark' | 'release' | 'set-aside' | 'decide'>(
    key: Key,
    command: Parameters<typeof transition<C>>[1],
  ): ReturnType<typeof transition<C>>['verdict'] {
    const { next, verdict } = transition<C>(this.#record(key), command, this.#clock.now())
    this.#records.set(key, next)
    return verdict
  }
}
