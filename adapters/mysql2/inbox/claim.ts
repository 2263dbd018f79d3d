import type { ClaimRequest, DurationMs, TransactionAnswer, TransactionClaim } from '../../../src/spi.ts'
import { inKeyOrder, storedItem, type StoredItem } from '../../sql/bytes.ts'
import { despiteConflicts } from '../../sql/despite-conflicts.ts'
import type { MysqlTransaction } from '../tx/mysql-transaction.ts'
import type { Place } from '../place.ts'
import { isLockTimeout, mayPassAgain } from '../sql-errors.ts'
import { countAttempts, type CountedRow, type TriedRow } from './statements/attempts.ts'
import { claimKeys, readFlushed, readInbox, removeKeys, type InboxRow } from './statements/records.ts'
import { fromHex } from '../statements/literals.ts'
import { lastRows } from '../statements/script.ts'
import { ClaimTransaction } from './claim-transaction.ts'
import { recordOf } from './records.ts'
import { InboxLedger } from './ledger.ts'

type Answer = TransactionAnswer<MysqlTransaction>

/** Opens a transaction that holds a row for each granted key. If no key is granted, the transaction ends here. */
export async function claimOfInbox(
  place: Place,
  request: ClaimRequest,
  lockTimeoutMs: DurationMs,
): Promise<readonly Answer[]> {
  const items = request.items.map(storedItem)
  try {
    return await despiteConflicts(() => claimOnce(place, request, items), mayPassAgain)
  } catch (error) {
    if (!isLockTimeout(error)) throw error
    // The lock timeout does not say which row was held, so every key answers `busy`.
    return items.map(() => ({ verdict: 'busy', leaseLeftMs: lockTimeoutMs }))
  }
}

async function claimOnce(
  place: Place,
  request: ClaimRequest,
  items: readonly StoredItem[],
): Promise<readonly Answer[]> {
  const { sessions, tables, scope } = place
  const records = await recordsOf(place, items)
  const free = inKeyOrder(items.filter(({ key }) => !records.has(key)))
  if (free.length === 0) {
    await flush(place, records)
    return items.map((stored) => ungranted(stored, records.get(stored.key)))
  }
  const { session, sets } = await sessions.begin(claimKeys(tables, { scope, items: free, owner: request.token }))
  try {
    const inserted = new Set<string>()
    for (const row of lastRows(sets) as readonly InboxRow[]) {
      if (row.outcome === 'c' && fromHex(row.owner) === request.token) inserted.add(row.k) // mutant: mysql-insert-taken-for-granted
      else records.set(row.k, row)
    }
    const own = free.filter(({ key }) => inserted.has(key))
    const attempts = await attemptsOf(place, request, own)
    const granted = items.filter(({ key }) => attempts.get(key)?.is_counted === 1)
    const uncounted = [...inserted].filter((key) => attempts.get(key)?.is_counted !== 1)
    if (granted.length === 0) {
      await session.rollback()
    } else if (uncounted.length > 0) {
      await session.run(removeKeys(tables, scope, uncounted).statements)
    }
    await flush(place, records)
    const counted = new Map(granted.map(({ key, item }) => [item.key, attempts.get(key)?.n ?? 1]))
    const ledger = new InboxLedger(place, { token: request.token, items: granted, attempts: counted })
    const keys = granted.map(({ item }) => item.key)
    const transaction = new ClaimTransaction({ place, session, ledger }, { token: request.token, keys })
    return items.map((stored) => {
      const attempt = attempts.get(stored.key)
      if (attempt === undefined) return ungranted(stored, records.get(stored.key))
      return attempt.is_counted === 1 ? grant(stored, request, transaction, attempt) : whyNotCounted(stored, attempt)
    })
  } catch (error) {
    await session.rollback()
    throw error
  }
}

/**
 * A key with a record is not inserted: that would lock its row until the handlers end, and others would wait for a done
 * message. A claim of a single key holds it only for a moment.
 */
async function recordsOf(
  { sessions, tables, scope }: Place,
  items: readonly StoredItem[],
): Promise<Map<string, InboxRow>> {
  if (items.length < 2) return new Map()
  const keys = items.map(({ key }) => key)
  const rows = await sessions.committed(readInbox(tables, scope, keys))
  return new Map(rows.map((row) => [row.k, row]))
}

/** A done record leads to a settle, so it is read again after a flush. */
async function flush({ sessions, tables, scope }: Place, records: Map<string, InboxRow>): Promise<void> {
  const done = [...records.values()].flatMap(({ k, outcome }) => (outcome === 'd' ? [k] : []))
  if (done.length === 0) return // mutant: mysql-duplicates-before-the-flush
  const rows = await sessions.committed(readFlushed(tables, scope, done))
  for (const key of done) records.delete(key)
  for (const row of rows) records.set(row.k, row)
}

/** A key that is not counted has an earlier attempt, and must not share the transaction. */
async function attemptsOf(
  { sessions, tables, scope }: Place,
  { token, alone }: ClaimRequest,
  items: readonly StoredItem[],
): Promise<ReadonlyMap<string, CountedRow>> {
  if (items.length === 0) return new Map()
  const counted = await sessions.committed(countAttempts(tables, { scope, items, owner: token, alone }))
  return new Map(counted.map((row) => [row.k, row]))
}

/** Why an attempt was not counted. */
function whyNotCounted({ fp }: StoredItem, tried: TriedRow): Answer {
  if (tried.fp !== null && fp !== null && tried.fp !== fp) return { verdict: 'conflict' }
  const leaseLeftMs = Math.ceil(Number(tried.wait_ms))
  return leaseLeftMs > 0 ? { verdict: 'busy', leaseLeftMs } : { verdict: 'again-alone', attempts: tried.n }
}

function grant(
  { item: { key, digest } }: StoredItem,
  { scope, token, retentionMs }: ClaimRequest,
  transaction: ClaimTransaction,
  { n: attempt, is_known: isKnown }: CountedRow,
): Answer {
  // The transaction holds the key. There is no lease that could end, so no fence is needed.
  const fence = 0
  const claimed: TransactionClaim<MysqlTransaction> = {
    key,
    digest,
    scope,
    token,
    fence,
    attempt,
    retentionMs,
    transaction,
  }
  return { verdict: 'claimed', fence, attempt, claim: claimed, ...(isKnown ? { isKnown: true } : {}) }
}

function ungranted({ fp }: StoredItem, record: InboxRow | undefined): Answer {
  // Purged or reopened between insert and read: free at the next claim.
  if (record === undefined) return { verdict: 'busy', leaseLeftMs: 0 }
  const kept = recordOf(record)
  if (kept.state === 'unreadable') return { verdict: kept.state, found: kept.found }
  if (record.fp !== null && fp !== null && record.fp !== fp) return { verdict: 'conflict' }
  if (kept.state !== 'done') {
    const { reason, attempt, since, cause } = kept
    return { verdict: kept.state, reason, attempt, since, cause }
  }
  return kept.result === undefined ? { verdict: 'done' } : { verdict: 'done', result: kept.result }
}
