import type { Claim, DurationMs, Reason, SetAsideVerdict } from '../../src/index.ts'
import type { InboxTransaction } from './inbox-transaction.ts'
import type { PgTransaction } from './pg-transaction.ts'
import { isLockTimeout, isUnstorable } from './sql-errors.ts'
import { readRecords, type RecordRow } from './sql/read-records.ts'
import { setAside, type SetAsideRow } from './sql/set-aside.ts'

interface How {
  readonly outcome: 'g' | 'p'
  readonly reason: Reason
  readonly lockTimeoutMs: DurationMs
}

/**
 * Rolls their transaction back and writes records in its place. Refused where another owner was quicker: it holds the row,
 * or has a record already.
 */
export async function setClaimsAside(
  transaction: InboxTransaction,
  claims: readonly Claim<PgTransaction>[],
  how: How,
): Promise<readonly SetAsideVerdict[]> {
  const { tables, scope, sessions } = transaction.place
  const items = claims.flatMap(({ key }) => transaction.items.get(key) ?? [])
  const keys = items.map(({ key }) => key)
  const fps = items.map(({ fp }) => fp)
  const owners = items.map(() => transaction.token)
  let rows: readonly SetAsideRow[]
  try {
    rows = await transaction.replace(setAside(tables, { scope, keys, fps, owners, ...how }))
  } catch (error) {
    // A reason holds the text of an error: what a database cannot store of it must not keep the record from being written.
    if (isUnstorable(error)) return setClaimsAside(transaction, claims, { ...how, reason: plain(how.reason) })
    if (!isLockTimeout(error)) throw error
    const [first, ...others] = claims
    if (first === undefined || others.length === 0) return claims.map(() => 'refused')
    // One of them is held by another owner; alone, each finds out for itself.
    return [...(await setClaimsAside(transaction, [first], how)), ...(await setClaimsAside(transaction, others, how))]
  }
  const written = new Set(rows.map(({ key }) => key))
  const kept = keys.filter((key) => !written.has(key))
  const records = kept.length === 0 ? [] : await sessions.committed(readRecords(tables, scope, kept))
  const byKey = new Map(records.map((record) => [record.key, record]))
  return keys.map((key) => (written.has(key) ? VERDICTS[how.outcome] : verdictOf(byKey.get(key), transaction.token)))
}

function plain(reason: Reason): Reason {
  return reason.replaceAll(/[^ -~\n]/g, '?')
}

const VERDICTS = { d: 'refused', g: 'given-up', p: 'parked' } as const

/** The owner token says whether the record is this one, written now or when the call was sent before. */
function verdictOf(record: RecordRow | undefined, owner: string): SetAsideVerdict {
  if (record === undefined || record.owner !== owner) return 'refused'
  return VERDICTS[record.outcome]
}
