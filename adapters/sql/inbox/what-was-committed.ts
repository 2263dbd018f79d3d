import type { Key, MarkVerdict } from '../../../src/internal.ts'
import type { StoredItem } from '../bytes.ts'
import { despiteConflicts } from '../despite-conflicts.ts'
import { stillUnknown } from '../errors.ts'
import type { InboxPlace, RecordRow } from './statements.ts'

/**
 * Finds out the result of a COMMIT whose answer was lost. That its rows are not visible proves nothing, because the
 * server may still commit. So the keys are held again, which waits for that transaction, and released at once. That
 * they are visible proves nothing either, because they may not be flushed.
 *
 * @throws StoreError `STORE_AMBIGUOUS` while the result is unknown
 */
export async function whatWasCommitted<Tx>(
  { sessions, inbox }: InboxPlace<Tx>,
  items: readonly StoredItem[],
  writer: string,
): Promise<ReadonlyMap<Key, MarkVerdict>> {
  const { errors } = sessions
  const keys = items.map(({ key }) => key)
  const held = despiteConflicts(() => sessions.begin(inbox.hold(keys)), errors.mayPassAgain)
  const { session, rows } = await held.catch((cause: unknown) => {
    throw errors.isLockTimeout(cause) ? stillUnknown(cause) : cause
  })
  await session.rollback()
  const absent = new Set(rows.flatMap(({ key, is_new: isNew }) => (isNew ? [key] : [])))
  const kept = keys.filter((key) => !absent.has(key))
  const records = kept.length === 0 ? [] : await inbox.readForGood(kept)
  const byKey = new Map(records.map((record) => [record.key, record]))
  return new Map(items.map(({ item, key }) => [item.key, verdictOf(byKey.get(key), absent.has(key), writer)]))
}

/** The writer distinguishes its rows from those of a later owner. */
function verdictOf(record: RecordRow | undefined, isAbsent: boolean, writer: string): MarkVerdict {
  if (isAbsent) return 'refused-busy'
  if (record === undefined) throw stillUnknown()
  if (record.outcome !== 'd') return 'refused-busy'
  return record.writer === writer ? 'already-marked' : 'refused-done'
}
