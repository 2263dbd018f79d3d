import type { MarkVerdict, OwnerToken } from '../../../src/spi.ts'
import type { StoredItem } from '../../sql/bytes.ts'
import { despiteConflicts } from '../../sql/despite-conflicts.ts'
import type { MarkingFailure, Replacement } from '../ledger.ts'
import type { Place } from '../place.ts'
import { storable } from './set-keys-aside.ts'
import { isLockTimeout, isUnstorable, isConflictOfTransactions } from '../sql-errors.ts'
import { readRecords } from './statements/read-records.ts'
import { writeRecords, type WrittenRow } from './statements/write-records.ts'
import { stillUnknown } from './what-was-committed.ts'

interface Failed extends MarkingFailure {
  readonly item: StoredItem
  readonly owner: OwnerToken
}

/**
 * Marks without an effect: the handler's writes are rolled back, and the remembered failure is committed instead.
 * Refused if another owner was quicker: nothing of this claim has happened.
 */
export async function markFailure(place: Place, failed: Failed, run: Replacement): Promise<MarkVerdict> {
  const { tables, scope, sessions } = place
  const { item, owner, result, lockTimeoutMs, isSentAgain } = failed
  const { key, fp } = item
  const mark = { attempts: [null], outcome: 'd', reason: null, result, cause: null } as const
  const record = { scope, keys: [key], fps: [fp], owner, ...mark, lockTimeoutMs }
  let written: readonly WrittenRow[]
  try {
    written = await despiteConflicts(() => run(writeRecords(tables, record)), isConflictOfTransactions)
  } catch (error) {
    if (isLockTimeout(error) && isSentAgain) throw stillUnknown(error)
    if (isLockTimeout(error)) return 'refused-busy'
    if (!isUnstorable(error)) throw error
    // The encoding of the database lacks a character of the error text.
    return markFailure(place, { ...failed, result: storable(result) }, run)
  }
  if (written.length > 0) return 'marked'
  const [found] = await sessions.committed(readRecords(tables, scope, [key]))
  if (found?.outcome !== 'd') return 'refused-busy'
  return found.owner === owner ? 'already-marked' : 'refused-done'
}
