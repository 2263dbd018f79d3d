import type { OwnerToken, Reason, SetAsideVerdict } from '../../../src/spi.ts'
import type { TriedItem } from '../../sql/bytes.ts'
import { despiteConflicts } from '../../sql/despite-conflicts.ts'
import type { Replacement, SettingAside } from '../ledger.ts'
import type { Place } from '../place.ts'
import { isLockTimeout, isUnstorable, isConflictOfTransactions } from '../sql-errors.ts'
import { readRecords, type RecordRow } from './statements/read-records.ts'
import { writeRecords, type WrittenRow } from './statements/write-records.ts'

interface Wanted {
  readonly items: readonly TriedItem[]
  readonly owner: OwnerToken
  readonly run: Replacement
}

/** Writes records. Refused if another owner was quicker: it holds the row, or has written a record already. */
export async function setKeysAside(
  place: Place,
  wanted: Wanted,
  how: SettingAside,
): Promise<readonly SetAsideVerdict[]> {
  const { tables, scope, sessions } = place
  const { items, owner, run } = wanted
  const { reason, cause = null, lockTimeoutMs } = how
  const keys = items.map(({ key }) => key)
  const fps = items.map(({ fp }) => fp)
  const attempts = items.map(({ attempt }) => attempt)
  const outcome = how.as === 'given-up' ? 'g' : 'p'
  let rows: readonly WrittenRow[]
  try {
    const written = { scope, keys, fps, attempts, owner, outcome, reason, result: null, cause, lockTimeoutMs } as const
    rows = await despiteConflicts(() => run(writeRecords(tables, written)), isConflictOfTransactions)
  } catch (error) {
    if (isUnstorable(error)) {
      const told = { reason: storable(reason), cause: cause === null ? undefined : storable(cause) }
      return setKeysAside(place, wanted, { ...how, ...told })
    }
    if (!isLockTimeout(error)) throw error
    const [first, ...others] = items
    if (first === undefined || others.length === 0) return items.map(() => 'refused')
    // Another owner holds one of the keys. Alone, each key finds out for itself.
    const verdicts = await setKeysAside(place, { ...wanted, items: [first] }, how)
    return [...verdicts, ...(await setKeysAside(place, { ...wanted, items: others }, how))]
  }
  const written = new Set(rows.map(({ key }) => key))
  const kept = keys.filter((key) => !written.has(key))
  const records = kept.length === 0 ? [] : await sessions.committed(readRecords(tables, scope, kept))
  const byKey = new Map(records.map((record) => [record.key, record]))
  return keys.map((key) => (written.has(key) ? how.as : verdictOf(byKey.get(key), owner)))
}

/** A reason contains the text of an error: characters that a database cannot store must not prevent the record. */
export function storable(reason: Reason): Reason {
  return reason.replaceAll(/[^ -~\n]/g, '?')
}

const VERDICTS: Readonly<Record<string, SetAsideVerdict>> = { g: 'given-up', p: 'parked' }

/** The owner token shows whether this claim wrote the record, now or in an earlier call. */
function verdictOf(record: RecordRow | undefined, owner: string): SetAsideVerdict {
  if (record === undefined || record.owner !== owner) return 'refused'
  return VERDICTS[record.outcome] ?? 'refused'
}
