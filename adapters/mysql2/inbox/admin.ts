import {
  ConfigError,
  isSharedBy,
  viewOf,
  type DecideVerdict,
  type Decision,
  type Key,
  type ListQuery,
  type Purged,
  type Purging,
  type RecordPage,
  type RecordView,
  type Resolution,
  type StoreAdmin,
  type Why,
} from '../../../src/spi.ts'
import { hexOf, keyOf } from '../../sql/bytes.ts'
import type { Database } from '../database.ts'
import type { Place } from '../place.ts'
import { Purge } from '../purge.ts'
import { answered, isLockTimeout } from '../sql-errors.ts'
import { readAttempts, type TriedRow } from './statements/attempts.ts'
import { glanceAt, listInbox, readInbox } from './statements/records.ts'
import { fromHex } from '../statements/literals.ts'
import { isBefore } from '../statements/purge.ts'
import { findShared } from '../statements/register-scope.ts'
import { decide } from './decide.ts'
import { OUTCOMES, recordOf, recordOfAttempts, seen } from './records.ts'

/** Operations for people on an inbox. */
export class InboxAdmin implements StoreAdmin {
  readonly #database: Database
  readonly #purge = new Purge()

  constructor(database: Database) {
    this.#database = database
  }

  peek(scope: string, keys: readonly Key[]): Promise<readonly RecordView[]> {
    return answered('peek', async () => {
      if (keys.length === 0) return []
      const place = await this.#database.placeOf(scope)
      const wanted = keys.map(hexOf)
      const rows = await place.sessions.committed(readInbox(place.tables, place.scope, wanted))
      const views = new Map<string, RecordView>(rows.map((row) => [row.k, seen(recordOf(row))]))
      const absent = wanted.filter((key) => !views.has(key))
      const tried =
        absent.length === 0 ? [] : await place.sessions.committed(readAttempts(place.tables, place.scope, absent))
      for (const row of tried) views.set(row.k, await viewOfTried(place, row))
      return wanted.map((key) => views.get(key) ?? { state: 'absent' })
    })
  }

  list(scope: string, { state, limit, after }: ListQuery): Promise<RecordPage> {
    return answered('list', async () => {
      const outcomes = OUTCOMES[state]
      if (outcomes.length === 0) return { records: [], next: undefined }
      const { sessions, tables, scope: id } = await this.#database.placeOf(scope)
      const page = { scope: id, outcomes, after: after === undefined ? '' : hexOf(after), limit: limit + 1 }
      const rows = await sessions.committed(listInbox(tables, page))
      const records = rows.slice(0, limit).map((row) => ({ key: keyOf(row.k), ...seen(recordOf(row)) }))
      return { records, next: rows.length > limit ? records.at(-1)?.key : undefined }
    })
  }

  resolve(scope: string, keys: readonly Key[], { as, ...why }: Resolution): Promise<readonly DecideVerdict[]> {
    return this.#decide(scope, keys, as, why)
  }

  reopen(scope: string, keys: readonly Key[], why: Why): Promise<readonly DecideVerdict[]> {
    return this.#decide(scope, keys, 'reopen', why)
  }

  forget(scope: string, keys: readonly Key[], why: Why): Promise<readonly DecideVerdict[]> {
    return this.#decide(scope, keys, 'forget', why)
  }

  /** Parked records wait for a person. Attempts of messages that never ended are removed too. */
  purge(scope: string, { retentionMs, limit }: Purging): Promise<Purged> {
    return answered('purge', async () => {
      const place = await this.#database.placeOf(scope)
      const { inbox, attempt } = place.tables
      const [shared] = await place.sessions.committed(findShared(place.tables, place.scope))
      // A lease has its own end in each record. Here the retention of one consumer would remove records of another.
      if (shared !== undefined) throw new ConfigError([isSharedBy({ ...shared, name: fromHex(shared.name) })])
      const isOver = `outcome in ('d', 'g') and ${isBefore('done_at', retentionMs)}`
      const records = await this.#purge.step(place, { table: inbox, isOver }, limit)
      if (records.more) return records
      const ofTries = { table: attempt, isOver: isBefore('last_at', retentionMs) }
      const tries = await this.#purge.step(place, ofTries, Math.max(1, limit - records.removed))
      return { removed: records.removed + tries.removed, more: tries.more }
    })
  }

  #decide(scope: string, keys: readonly Key[], decision: Decision, why: Why): Promise<readonly DecideVerdict[]> {
    return answered(decision, async () => {
      const wanted = keys.map(hexOf)
      const place = await this.#database.placeOf(scope)
      const verdicts = await decide(place, [...new Set(wanted)].toSorted(), decision, why)
      return wanted.map((key) => verdicts.get(key) ?? 'refused')
    })
  }
}

/**
 * An attempt is counted and there is no record: its handler is running, or has failed. Only an attempt to take the row
 * shows which.
 */
async function viewOfTried({ sessions, tables, scope }: Place, row: TriedRow): Promise<RecordView> {
  const { k: key, n: attempt } = row
  try {
    await sessions.committed(glanceAt(tables, scope, key))
    const now = Number(row.not_before_ms ?? 0) - Number(row.wait_ms)
    const { state, notBefore, cause } = viewOf(recordOfAttempts(row), now)
    return { state, attempt, notBefore, cause }
  } catch (error) {
    if (!isLockTimeout(error)) throw error
    return { state: 'processing', attempt }
  }
}
