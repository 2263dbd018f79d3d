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
import { decide } from './decide.ts'
import { OUTCOMES, recordOfAttempts, viewOfRow } from './records.ts'
import type { Place } from '../place.ts'
import { Purge } from './purge.ts'
import { isLockTimeout } from '../sql-errors.ts'
import { claimKeys } from './statements/claim-keys.ts'
import { listRecords } from './statements/list-records.ts'
import { readAttempts, type AttemptRow } from './statements/read-attempts.ts'
import { readRecords } from './statements/read-records.ts'
import { findShared } from '../statements/register-scope.ts'

/** How long a look waits for the owner of a key, in milliseconds. */
const GLANCE_MS = 20

/** Operations for people on an inbox. */
export class InboxAdmin implements StoreAdmin {
  readonly #placeOf: (scope: string) => Promise<Place>
  readonly #purge = new Purge()

  constructor(placeOf: (scope: string) => Promise<Place>) {
    this.#placeOf = placeOf
  }

  async peek(scope: string, keys: readonly Key[]): Promise<readonly RecordView[]> {
    if (keys.length === 0) return []
    const place = await this.#placeOf(scope)
    const wanted = keys.map(hexOf)
    const records = await place.sessions.committed(readRecords(place.tables, place.scope, wanted))
    const views = new Map(records.map((record) => [record.key, viewOfRow(record)]))
    const absent = wanted.filter((key) => !views.has(key))
    const attempts =
      absent.length === 0 ? [] : await place.sessions.committed(readAttempts(place.tables, place.scope, absent))
    for (const row of attempts) views.set(row.key, await viewOfTried(place, row))
    return wanted.map((key) => views.get(key) ?? { state: 'absent' })
  }

  async list(scope: string, { state, limit, after }: ListQuery): Promise<RecordPage> {
    const outcome = OUTCOMES[state]
    // The row of a running message is not visible, and no record of an inbox is ever in doubt.
    if (outcome === undefined) return { records: [], next: undefined }
    const { sessions, tables, scope: id } = await this.#placeOf(scope)
    const from = after === undefined ? '' : hexOf(after)
    const rows = await sessions.committed(listRecords(tables, { scope: id, outcome, after: from, limit: limit + 1 }))
    const records = rows.slice(0, limit).map((row) => ({ key: keyOf(row.key), ...viewOfRow(row) }))
    return { records, next: rows.length > limit ? records.at(-1)?.key : undefined }
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

  async purge(scope: string, how: Purging): Promise<Purged> {
    const place = await this.#placeOf(scope)
    const [shared] = await place.sessions.committed(findShared(place.tables, place.scope))
    // A lease has its own end in each record. Here the retention of one consumer would remove records of another.
    if (shared !== undefined) throw new ConfigError([isSharedBy(shared)])
    return this.#purge.run(place, how)
  }

  async #decide(scope: string, keys: readonly Key[], decision: Decision, why: Why): Promise<readonly DecideVerdict[]> {
    const wanted = keys.map(hexOf)
    const verdicts = await decide(await this.#placeOf(scope), [...new Set(wanted)], decision, why)
    return wanted.map((key) => verdicts.get(key) ?? 'refused')
  }
}

/**
 * An attempt is counted and there is no record: its handler is running, or has failed. Only an attempt to take the row
 * shows which.
 */
async function viewOfTried({ sessions, tables, scope }: Place, row: AttemptRow): Promise<RecordView> {
  const { key, n: attempt } = row
  const { text } = claimKeys(tables, scope, [{ key, fp: null }])
  try {
    const { session } = await sessions.begin({ text: `set local lock_timeout = '${GLANCE_MS}ms';\n${text}` })
    await session.rollback()
    const now = (row.not_before ?? 0) - row.wait_ms
    const { state, notBefore, cause } = viewOf(recordOfAttempts(row), now)
    return { state, attempt, notBefore, cause }
  } catch (error) {
    if (!isLockTimeout(error)) throw error
    return { state: 'processing', attempt }
  }
}
