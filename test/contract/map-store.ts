import {
  viewOf,
  type Command,
  type DecideVerdict,
  type Key,
  type MessageRecord,
  type RecordView,
} from '../../src/core/record.ts'
import { transition, type Transition } from '../../src/core/transition.ts'
import { memoryAdmin, pageIn, type MemoryRecords } from '../../src/memory/admin.ts'
import { MemoryHistory } from '../../src/memory/history.ts'
import type { ListQuery, Purging, RecordPage, StoreAdmin } from '../../src/ports/store-admin.ts'
import type {
  Claim,
  ClaimRequest,
  LeaseAnswer,
  LeaseStore,
  ReleaseOptions,
  SetAsideOptions,
} from '../../src/ports/store.ts'
import type { MarkVerdict, ReleaseVerdict, RenewVerdict, Result, SetAsideVerdict } from '../../src/core/record.ts'
import type { LeaseHarness } from '../../testing/contract/store/harness.ts'

export type AnyTransition = Transition<Command['command']>

/** Moves one record: `transition()`, or something that looks like it. */
export type Step = (record: MessageRecord, command: Command, now: number) => AnyTransition

export const rightStep: Step = (record, command, now) => transition<Command['command']>(record, command, now)

/** `memoryStore()` over a step of one's own. */
export class MapStore implements LeaseStore {
  readonly strategy = 'lease'
  readonly inOrder: boolean = true
  readonly admin: StoreAdmin
  readonly #history = new MemoryHistory()
  readonly records: Map<Key, MessageRecord> = new Map()
  now = 1_000_000
  readonly #step: Step

  constructor(step: Step = rightStep) {
    this.#step = step
    const records: MemoryRecords = {
      view: (key) => this.view(key),
      list: (query, isOf) => this.list(query, isOf),
      decide: (key, decision, retentionMs) =>
        this.move(key, { command: 'decide', decision, retentionMs }) as DecideVerdict,
      purge: (how) => this.#purge(how),
      recordsEnd: true,
    }
    const admin = memoryAdmin(records, { now: () => this.now }, this.#history)
    const peek = async (scope: string, keys: readonly Key[]): Promise<readonly RecordView[]> => {
      const seen = await admin.peek(scope, keys)
      return this.peek(keys).map((view, at) => (seen[at]?.scope === 'another' ? seen[at] : view))
    }
    this.admin = { ...admin, peek }
  }

  async open(): Promise<void> {}

  async claim({ items, scope, token, leaseMs, retentionMs, alone }: ClaimRequest): Promise<readonly LeaseAnswer[]> {
    this.#history.used(scope, { items, records: this.records, now: this.now, retentionMs })
    return items.map(({ key, digest }): LeaseAnswer => {
      const answer = this.move(key, { command: 'claim', token, digest, leaseMs, retentionMs, alone })
      if (typeof answer === 'string') throw new TypeError('a verdict of another command (map-store)')
      if (!('fence' in answer)) return answer
      const { fence, attempt } = answer
      return { ...answer, claim: { key, digest, scope, token, fence, attempt, retentionMs } }
    })
  }

  async renew(claims: readonly Claim[], leaseMs: number): Promise<readonly RenewVerdict[]> {
    return claims.map(({ key, token }) => this.move(key, { command: 'renew', token, leaseMs }) as RenewVerdict)
  }

  async mark(claims: readonly Claim[], results: readonly (Result | undefined)[] = []): Promise<readonly MarkVerdict[]> {
    return claims.map(
      ({ key, ...claimed }, at) => this.move(key, { command: 'mark', ...claimed, result: results[at] }) as MarkVerdict,
    )
  }

  async release(claims: readonly Claim[], how: ReleaseOptions): Promise<readonly ReleaseVerdict[]> {
    return claims.map(({ key, token }) => this.move(key, { command: 'release', token, ...how }) as ReleaseVerdict)
  }

  async setAside(
    claims: readonly Claim[],
    as: 'given-up' | 'parked',
    why: SetAsideOptions,
  ): Promise<readonly SetAsideVerdict[]> {
    return claims.map(
      ({ key, token }) => this.move(key, { ...why, command: 'set-aside', token, as }) as SetAsideVerdict,
    )
  }

  peek(keys: readonly Key[]): readonly RecordView[] {
    return keys.map((key) => this.view(key))
  }

  view(key: Key): RecordView {
    return viewOf(this.records.get(key) ?? { state: 'absent' }, this.now)
  }

  list(query: ListQuery, isOf: (key: Key) => boolean): RecordPage {
    const own = [...this.records.keys()].filter(isOf)
    return pageIn(
      own.map((key) => ({ key, ...this.view(key) })),
      query,
    )
  }

  #purge({ limit }: Purging): { readonly removed: number; readonly more: boolean } {
    const over = [...this.records.keys()].filter((key) => this.view(key).state === 'absent')
    for (const key of over.slice(0, limit)) this.records.delete(key)
    return { removed: Math.min(over.length, limit), more: over.length > limit }
  }

  move(key: Key, command: Command): AnyTransition['verdict'] {
    const { next, verdict } = this.#step(this.records.get(key) ?? { state: 'absent' }, command, this.now)
    this.records.set(key, next)
    return verdict
  }
}

export function mapHarness(store: MapStore): LeaseHarness {
  return {
    store,
    secondStore: async () => store,
    advance: async (ms) => {
      store.now += ms
    },
    spoil: async (key) => void store.records.set(key, { state: 'unreadable', found: 'a list' }),
    forget: async (key) => void store.records.delete(key),
    close: async () => {},
  }
}
