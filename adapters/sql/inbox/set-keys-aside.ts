import type { DurationMs, OwnerToken, SetAsideVerdict } from '../../../src/internal.ts'
import { despiteConflicts } from '../despite-conflicts.ts'
import { despiteEncoding } from '../errors.ts'
import type { Replacement, SettingAside } from '../ledger.ts'
import type { InboxPlace, RecordRow, TriedItem } from './statements.ts'

interface Wanted {
  readonly items: readonly TriedItem[]
  readonly owner: OwnerToken
  readonly keepMs: DurationMs
  readonly run: Replacement
}

/** Writes records. Refused if another owner was quicker: it holds the row, or has written a record already. */
export async function setKeysAside<Tx>(
  place: InboxPlace<Tx>,
  wanted: Wanted,
  how: SettingAside,
): Promise<readonly SetAsideVerdict[]> {
  const { inbox, sessions } = place
  const { items, owner, keepMs, run } = wanted
  const { reason, cause = null, lockTimeoutMs } = how
  const outcome = how.as === 'given-up' ? 'g' : 'p'
  const writing = { items, owner, outcome, result: null, keepMs, lockTimeoutMs } as const
  let rows: readonly Pick<RecordRow, 'key' | 'outcome'>[]
  try {
    rows = await despiteEncoding(sessions.errors, { reason, cause }, (texts) =>
      despiteConflicts(() => run(inbox.write({ ...writing, ...texts })), sessions.errors.mayPassAgain),
    )
  } catch (error) {
    if (!sessions.errors.isLockTimeout(error)) throw error
    const [first, ...others] = items
    if (first === undefined || others.length === 0) return items.map(() => 'refused')
    // Another owner holds one of the keys. Alone, each key finds out for itself.
    const verdicts = await setKeysAside(place, { ...wanted, items: [first] }, how)
    return [...verdicts, ...(await setKeysAside(place, { ...wanted, items: others }, how))]
  }
  await withdrawn(place, rows)
  const outcomes = new Map(rows.map((row) => [row.key, row.outcome]))
  const kept = items.flatMap(({ key }) => (outcomes.has(key) ? [] : [key]))
  // The owner token shows whether this claim has written a record in an earlier call.
  for (const row of kept.length === 0 ? [] : await sessions.committed(inbox.read(kept))) {
    if (row.owner === owner) outcomes.set(row.key, row.outcome)
  }
  return items.map(({ key }) => VERDICTS[outcomes.get(key) ?? ''] ?? 'refused')
}

/** If this fails, what is left goes with a purge, or with a person's decision. */
export async function withdrawn<Tx>(
  { inbox, sessions }: InboxPlace<Tx>,
  written: readonly Pick<RecordRow, 'key'>[],
): Promise<void> {
  if (written.length === 0 || inbox.withdraw === undefined) return
  await sessions.briefly(inbox.withdraw(written.map(({ key }) => key))).catch(() => {})
}

const VERDICTS: Readonly<Record<string, SetAsideVerdict>> = { g: 'given-up', p: 'parked' }
