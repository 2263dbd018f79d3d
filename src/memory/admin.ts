import type { DecideVerdict, Decision, Key, RecordView } from '../core/record.ts'
import type { DurationMs } from '../core/units.ts'
import type { Clock } from '../ports/clock.ts'
import type { ListQuery, Purged, Purging, RecordPage, StoreAdmin, Why } from '../ports/store-admin.ts'
import type { MemoryHistory } from './history.ts'
import { MemoryReplayLedger } from './replays.ts'

/** The records of one store in memory. */
export interface MemoryRecords {
  readonly view: (key: Key) => RecordView
  /** @param isOf - whether a key is of the scope */
  readonly list: (query: ListQuery, isOf: (key: Key) => boolean) => RecordPage
  readonly decide: (key: Key, decision: Decision, retentionMs: DurationMs) => DecideVerdict
  readonly purge: (how: Purging) => Purged
  /** Each record ends with its own retention. */
  readonly recordsEnd: boolean
}

type Listed = RecordPage['records'][number]

/** A page of all records of a store, in the order of keys. */
export function pageIn(
  all: readonly Listed[],
  { state, limit, lookAtMost = all.length, after = '' }: ListQuery,
): RecordPage {
  const rest = all.filter(({ key }) => key > after).toSorted((a, b) => (a.key < b.key ? -1 : 1))
  const records: Listed[] = []
  let looked = 0
  for (const record of rest) {
    const isFull = records.length === limit && record.state === state
    if (isFull || looked === lookAtMost) return { records, looked, next: rest[looked - 1]?.key }
    looked++
    if (record.state === state) records.push(record)
  }
  return { records, looked, next: undefined }
}

export function memoryAdmin(
  { view, list, decide, purge, recordsEnd }: MemoryRecords,
  clock: Pick<Clock, 'now'>,
  history: MemoryHistory,
): StoreAdmin {
  const isOf = (scope: string, key: Key): boolean => (history.scopeOf(key) ?? scope) === scope // mutant: memory-shows-all-scopes
  const look = (scope: string, key: Key): RecordView =>
    isOf(scope, key) || view(key).state === 'absent' ? view(key) : { state: 'absent', scope: 'another' }
  const decideAll = (scope: string, keys: readonly Key[], decision: Decision, why: Why): readonly DecideVerdict[] =>
    keys.map((key) => {
      if (look(scope, key).scope === 'another') return 'refused'
      const before = view(key).state
      const verdict = decide(key, decision, why.retentionMs)
      const { by, reason } = why
      if (verdict === 'decided') history.audit.add(scope, { at: clock.now(), key, decision, by, reason, before })
      return verdict
    })
  return {
    peek: async (scope, keys) => keys.map((key) => look(scope, key)),
    list: async (scope, query) => list(query, (key) => isOf(scope, key)),
    resolve: async (scope, keys, { as, ...why }) => decideAll(scope, keys, as, why),
    reopen: async (scope, keys, why) => decideAll(scope, keys, 'reopen', why),
    forget: async (scope, keys, why) => decideAll(scope, keys, 'forget', why),
    import: async (scope, keys, why) => {
      const verdicts = decideAll(scope, keys, 'import', why)
      const items = keys.filter((_, at) => verdicts[at] === 'decided').map((key) => ({ key }))
      history.used(scope, { items, now: clock.now(), retentionMs: recordsEnd ? why.retentionMs : undefined })
      return verdicts
    },
    purge: async (_scope, how) => purge(how),
    knownSince: async (scope) => history.knownSince(scope, clock.now()),
    audit: async (scope, query) => history.audit.page(scope, query),
    note: async (scope, { what: decision, about, by, reason }) => {
      history.audit.add(scope, { at: clock.now(), key: '', decision, by, reason, before: '', about })
    },
    replays: new MemoryReplayLedger(clock, history.replays),
  }
}
