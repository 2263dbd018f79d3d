import type { DurationMs, MarkVerdict, OwnerToken } from '../../../src/internal.ts'
import type { StoredItem } from '../bytes.ts'
import { despiteConflicts } from '../despite-conflicts.ts'
import { despiteEncoding, stillUnknown } from '../errors.ts'
import type { MarkingFailure, Replacement } from '../ledger.ts'
import { withdrawn } from './set-keys-aside.ts'
import type { InboxPlace, RecordRow } from './statements.ts'

interface Failed extends MarkingFailure {
  readonly item: StoredItem
  readonly owner: OwnerToken
  readonly keepMs: DurationMs
}

/**
 * Marks without an effect: the handler's writes are rolled back, and the remembered failure is committed instead.
 * Refused if another owner was quicker: nothing of this claim has happened.
 */
export async function markFailure<Tx>(place: InboxPlace<Tx>, failed: Failed, run: Replacement): Promise<MarkVerdict> {
  const { inbox, sessions } = place
  const { item, owner, result, keepMs, lockTimeoutMs, isSentAgain } = failed
  const { key, fp } = item
  const none = { reason: null, cause: null }
  const items = [{ key, fp, attempt: null }]
  const record = { items, owner, outcome: 'd', keepMs, lockTimeoutMs, ...none } as const
  let written: readonly Pick<RecordRow, 'key' | 'outcome'>[]
  try {
    written = await despiteEncoding(sessions.errors, { result }, (texts) =>
      despiteConflicts(() => run(inbox.write({ ...record, ...texts })), sessions.errors.mayPassAgain),
    )
  } catch (error) {
    if (sessions.errors.isLockTimeout(error) && isSentAgain) throw stillUnknown(error)
    if (sessions.errors.isLockTimeout(error)) return 'refused-busy'
    throw error
  }
  await withdrawn(place, written)
  const [row] = written
  if (row !== undefined) return row.outcome !== 'd' ? 'refused-busy' : isSentAgain ? 'already-marked' : 'marked'
  const [found] = await sessions.committed(inbox.read([key]))
  if (found?.outcome !== 'd') return 'refused-busy'
  return found.owner === owner ? 'already-marked' : 'refused-done'
}
