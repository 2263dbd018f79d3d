import { setTimeout as sleep } from 'node:timers/promises'
import type { ClaimRequest, DurationMs, TransactionAnswer, TransactionClaim } from '../../../src/spi.ts'
import { storedItems, type StoredItem } from '../../sql/bytes.ts'
import { ClaimTransaction } from '../claim-transaction.ts'
import { despiteConflicts } from '../../sql/despite-conflicts.ts'
import { InboxLedger } from './ledger.ts'
import { recordOfRow } from './records.ts'
import type { PgTransaction } from '../tx/pg-transaction.ts'
import type { Place } from '../place.ts'
import { mayBeUndone, readForGood } from './read-for-good.ts'
import type { Session } from '../sessions/session.ts'
import { isLockTimeout, isConflictOfTransactions } from '../sql-errors.ts'
import { AnsweredKeys } from './statements/answered-keys.ts'
import { claimTogether } from './statements/claim-keys.ts'
import { countFirst, countNext, Counts, type Counted } from './statements/count-attempts.ts'
import { readAttempts, type AttemptRow } from './statements/read-attempts.ts'
import { readRecords, type ReadRow } from './statements/read-records.ts'
import { refundAttempts } from './statements/refund-attempts.ts'
import { removeKeys } from './statements/remove-keys.ts'

type Answer = TransactionAnswer<PgTransaction>

/** Pauses before each further look at free keys that another claim has counted, in milliseconds. */
const LOOKS: readonly number[] = [0, 10, 20, 40, 80]

/**
 * A claim takes its keys in the same message that counts them. So a count that is older than this is an earlier
 * attempt.
 */
const YOUNG_MS = 1_000

/** Claims of one store. */
export class InboxClaims {
  /** Duplicates come in bursts: after a rebalance, a rewind, or a replay of dead letters. */
  #expectsDuplicates = false

  /**
   * Counts attempts, then opens a transaction that holds a row for each granted key. If no key is granted, the
   * transaction ends here. A key that was counted but not granted was marked by another owner, whose mark removes the
   * attempt.
   */
  async claim(place: Place, request: ClaimRequest, lockTimeoutMs: DurationMs): Promise<readonly Answer[]> {
    const items = storedItems(request.items)
    const answers =
      (this.#expectsDuplicates ? await lookFirst(place, items) : undefined) ??
      (await claimAll(place, request, items, lockTimeoutMs))
    const duplicates = answers.filter(({ verdict }) => verdict === 'done').length
    this.#expectsDuplicates = duplicates * 2 > answers.length
    return answers
  }
}

async function claimAll(
  place: Place,
  request: ClaimRequest,
  items: readonly StoredItem[],
  lockTimeoutMs: DurationMs,
): Promise<readonly Answer[]> {
  try {
    return await despiteConflicts(() => claimOnce(place, request, items), isConflictOfTransactions)
  } catch (error) {
    if (!isLockTimeout(error)) throw error
    // The lock timeout does not say which row was held, so every key answers `busy`.
    return items.map(() => ({ verdict: 'busy', leaseLeftMs: lockTimeoutMs }))
  }
}

/** One read instead of a transaction, which is enough if every key has a record; `undefined` if one has none. */
async function lookFirst(place: Place, items: readonly StoredItem[]): Promise<readonly Answer[] | undefined> {
  const records = await recordsOf(place, items)
  if (records.size < items.length) return undefined
  return items.map((stored) => ungranted(stored, records))
}

async function claimOnce(
  place: Place,
  request: ClaimRequest,
  items: readonly StoredItem[],
  look = 0,
): Promise<readonly Answer[]> {
  const { sessions, tables, scope } = place
  const { token, alone } = request
  const counting = { scope, items, keys: keysOf(items), token }
  const { session, rows, counted } = await sessions.claim({
    count: alone ? countNext(tables, counting) : countFirst(tables, counting),
    uncount: refundAttempts(tables, counting),
    first: claimTogether(tables, scope, items), // mutant: pg-row-before-the-effect
  })
  try {
    const [{ keys: claimed, transaction: writer } = { keys: null, transaction: null }] = rows
    const answered = new AnsweredKeys(claimed, items.length)
    const attempts = new Counts(counted, items.length)
    const inserted = answered.size === items.length ? items : items.filter(({ key }) => answered.has(key)) // mutant: pg-insert-taken-for-granted
    const granted = attempts.size === items.length ? inserted : inserted.filter(({ key }) => attempts.of(key))
    const uncounted = granted.length === inserted.length ? [] : inserted.filter(({ key }) => !attempts.of(key))
    const others = inserted.length === items.length ? [] : items.filter(({ key }) => !answered.has(key))
    const tried = await triedOf(place, session, uncounted)
    const earlier = new Map(uncounted.map((stored) => [stored.key, whyNotCounted(stored, tried.get(stored.key))]))
    if (granted.length === 0 || writer === null) {
      await session.rollback()
      // Another claim has counted and may be about to take a free key: look again after a pause.
      const isFree = [...earlier.values()].some(({ verdict }) => verdict === 'again-alone')
      const isYoung = look === 0 || [...tried.values()].some(({ age_ms: ageMs }) => ageMs < YOUNG_MS)
      const pauseMs = LOOKS[look]
      if (inserted.length === items.length && isFree && isYoung && pauseMs !== undefined) {
        if (pauseMs > 0) await sleep(pauseMs)
        return await claimOnce(place, request, items, look + 1)
      }
      const records = await recordsOf(place, others)
      return items.map((stored) => earlier.get(stored.key) ?? ungranted(stored, records))
    }
    // They have an earlier attempt, or wait: they must not share the transaction, nor become done with it.
    if (uncounted.length > 0) await session.run(removeKeys(tables, scope, keysOf(uncounted)))
    const seen = others.length === 0 ? [] : await session.run(readRecords(tables, scope, keysOf(others)))
    if (seen.some(mayBeUndone)) {
      await session.rollback()
      return await claimOthers(place, request, items, others)
    }
    const records = byKey(seen)
    const begun = granted.map((stored) => ({ ...stored, attempt: attempts.of(stored.key)?.attempt ?? 1 }))
    const ledger = new InboxLedger(place, { token, items: begun, inserted: keysOf(inserted), transaction: writer })
    const keys = granted.map(({ item }) => item.key)
    const transaction = new ClaimTransaction({ place, session, ledger }, { token, keys })
    return items.map((stored) => {
      const isInserted = answered.has(stored.key) // mutant: pg-insert-taken-for-granted 2
      const attempt = isInserted ? attempts.of(stored.key) : undefined
      if (attempt !== undefined) return grant(stored, request, transaction, attempt)
      return earlier.get(stored.key) ?? ungranted(stored, records)
    })
  } catch (error) {
    await session.rollback()
    throw error
  }
}

/**
 * Some of `kept` are done but may not be flushed. Wait for the flush without an open transaction, then claim the rest.
 */
async function claimOthers(
  place: Place,
  request: ClaimRequest,
  items: readonly StoredItem[],
  kept: readonly StoredItem[],
): Promise<readonly Answer[]> {
  const records = await recordsOf(place, kept)
  const rest = items.filter((stored) => !kept.includes(stored))
  const answers = await claimOnce(place, request, rest)
  return items.map((stored) => answers[rest.indexOf(stored)] ?? ungranted(stored, records))
}

async function recordsOf(
  { sessions, tables, scope }: Place,
  items: readonly StoredItem[],
): Promise<ReadonlyMap<string, ReadRow>> {
  if (items.length === 0) return new Map()
  return byKey(await readForGood(sessions, readRecords(tables, scope, keysOf(items))))
}

function byKey(rows: readonly ReadRow[]): ReadonlyMap<string, ReadRow> {
  return new Map(rows.map((record) => [record.key, record]))
}

function keysOf(items: readonly StoredItem[]): readonly string[] {
  return items.map(({ key }) => key)
}

function grant(
  { item: { key, digest } }: StoredItem,
  { scope, token, retentionMs }: ClaimRequest,
  transaction: ClaimTransaction,
  { attempt, isKnown }: Counted,
): Answer {
  // The transaction holds the key. There is no lease that could end, so no fence is needed.
  const fence = 0
  const claimed: TransactionClaim<PgTransaction> = {
    key,
    digest,
    scope,
    token,
    fence,
    attempt,
    retentionMs,
    transaction,
  }
  const answer = { verdict: 'claimed', fence, attempt, claim: claimed } as const
  return isKnown ? { ...answer, isKnown } : answer
}

/** Stored attempts of keys that this claim has not counted and that nobody else holds. */
async function triedOf(
  { tables, scope }: Place,
  session: Session,
  items: readonly StoredItem[],
): Promise<ReadonlyMap<string, AttemptRow>> {
  if (items.length === 0) return new Map()
  const rows = await session.run(readAttempts(tables, scope, keysOf(items)))
  return new Map(rows.map((row) => [row.key, row]))
}

function whyNotCounted({ fp }: StoredItem, tried: AttemptRow | undefined): Answer {
  // Given back a moment ago: the next claim will tell.
  if (tried === undefined) return { verdict: 'again-alone', attempts: 0 }
  if (tried.fp !== null && fp !== null && tried.fp !== fp) return { verdict: 'conflict' }
  if (tried.wait_ms > 0) return { verdict: 'busy', leaseLeftMs: tried.wait_ms }
  return { verdict: 'again-alone', attempts: tried.n }
}

function ungranted({ key, fp }: StoredItem, records: ReadonlyMap<string, ReadRow>): Answer {
  const row = records.get(key)
  // Purged or reopened between insert and read: free at the next claim.
  if (row === undefined) return { verdict: 'busy', leaseLeftMs: 0 }
  const record = recordOfRow(row)
  if (record.state === 'unreadable') return { verdict: record.state, found: record.found }
  if (row.fp !== null && fp !== null && row.fp !== fp) return { verdict: 'conflict' } // mutant: pg-digest-uncompared
  if (record.state === 'done') return { verdict: record.state, result: record.result }
  const { state, reason, attempt, since, cause } = record
  return { verdict: state, reason, attempt, since, cause }
}
