import { StoreError, type Key, type MarkVerdict } from '../../../src/spi.ts'
import type { StoredItem } from '../../sql/bytes.ts'
import type { Place } from '../place.ts'
import { readForGood } from './read-for-good.ts'
import { isLockTimeout } from '../sql-errors.ts'
import { claimKeys } from './statements/claim-keys.ts'
import { readRecords, type RecordRow } from './statements/read-records.ts'

/**
 * Finds out the result of a COMMIT whose answer was lost. That its rows are not visible proves nothing, because its
 * backend may still commit. So the keys are claimed again, which waits for that backend, and released at once.
 *
 * @throws StoreError `STORE_AMBIGUOUS` while the result is unknown
 */
export async function whatWasCommitted(
  { sessions, tables, scope }: Place,
  items: readonly StoredItem[],
  transaction: string,
): Promise<ReadonlyMap<Key, MarkVerdict>> {
  const { session, rows } = await sessions.begin(claimKeys(tables, scope, items)).catch((cause: unknown) => {
    throw isLockTimeout(cause) ? stillUnknown(cause) : cause
  })
  await session.rollback()
  const absent = new Set(rows.map(({ key }) => key))
  const kept = items.filter(({ key }) => !absent.has(key)).map(({ key }) => key)
  const records = kept.length === 0 ? [] : await readForGood(sessions, readRecords(tables, scope, kept))
  const byKey = new Map(records.map((record) => [record.key, record]))
  return new Map(items.map(({ item, key }) => [item.key, verdictOf(byKey.get(key), absent.has(key), transaction)]))
}

/** The transaction ID distinguishes its rows from those of a later owner. */
function verdictOf(record: RecordRow | undefined, isAbsent: boolean, transaction: string): MarkVerdict {
  if (isAbsent) return 'refused-busy'
  if (record === undefined) throw stillUnknown()
  if (record.outcome !== 'd') return 'refused-busy'
  return record.transaction === transaction ? 'already-marked' : 'refused-done'
}

export function stillUnknown(cause?: unknown): StoreError {
  const text = 'the answer to a COMMIT was lost, and its transaction may still be under way'
  return new StoreError('STORE_AMBIGUOUS', text, { cause })
}
