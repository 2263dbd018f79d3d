import { setTimeout as sleep } from 'node:timers/promises'
import type {
  ClaimRequest,
  DurationMs,
  OwnerToken,
  TransactionAnswer,
  TransactionClaim,
} from '../../../src/internal.ts'
import type { KeyForm, StoredItem } from '../bytes.ts'
import { ClaimTransaction } from '../claim-transaction.ts'
import { despiteConflicts } from '../despite-conflicts.ts'
import type { Session } from '../session.ts'
import { InboxLedger } from './ledger.ts'
import { recordOfRow } from './records.ts'
import type { AttemptRow, Counted, InboxPlace, RecordRow } from './statements.ts'

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
  readonly #keys: KeyForm

  constructor(keys: KeyForm) {
    this.#keys = keys
  }

  /**
   * Counts attempts, then opens a transaction that holds a row for each granted key. If no key is granted, the
   * transaction ends here. A key that was counted but not granted was marked by another owner, whose mark removes the
   * attempt.
   */
  async claim<Tx>(
    place: InboxPlace<Tx>,
    request: ClaimRequest,
    lockTimeoutMs: DurationMs,
  ): Promise<readonly TransactionAnswer<Tx>[]> {
    const items = this.#keys.items(request.items)
    const looksFirst = this.#expectsDuplicates || place.inbox.looksFirst(items.length)
    const known = looksFirst ? await recordsOf(place, items) : NONE
    const free = known.size === 0 ? items : items.filter(({ key }) => !known.has(key))
    const claimed = free.length === 0 ? [] : await claimAll(place, request, free, lockTimeoutMs)
    const answers = known.size === 0 ? claimed : merged(items, free, claimed, known)
    const duplicates = answers.filter(({ verdict }) => verdict === 'done').length
    this.#expectsDuplicates = duplicates * 2 > answers.length
    return answers
  }
}

const NONE: ReadonlyMap<string, RecordRow> = new Map()

/** Answers for all `items`: those of the claim of some, and what the records of the others say. */
function merged<Tx>(
  items: readonly StoredItem[],
  some: readonly StoredItem[],
  answers: readonly TransactionAnswer<Tx>[],
  records: ReadonlyMap<string, RecordRow>,
): readonly TransactionAnswer<Tx>[] {
  const byItem = new Map(some.map((stored, at) => [stored, answers[at]]))
  return items.map((stored) => byItem.get(stored) ?? ungranted(stored, records))
}

async function claimAll<Tx>(
  place: InboxPlace<Tx>,
  request: ClaimRequest,
  items: readonly StoredItem[],
  lockTimeoutMs: DurationMs,
): Promise<readonly TransactionAnswer<Tx>[]> {
  try {
    return await despiteConflicts(() => claimOnce(place, request, items), place.sessions.errors.mayPassAgain)
  } catch (error) {
    if (!place.sessions.errors.isLockTimeout(error)) throw error
    // The lock timeout does not say which row was held, so every key answers `busy`.
    return items.map(() => ({ verdict: 'busy', leaseLeftMs: lockTimeoutMs }))
  }
}

async function claimOnce<Tx>(
  place: InboxPlace<Tx>,
  request: ClaimRequest,
  items: readonly StoredItem[],
  look = 0,
): Promise<readonly TransactionAnswer<Tx>[]> {
  const { inbox } = place
  const { token } = request
  const { session, inserted: held, counted, writer } = await inbox.open(request, items)
  try {
    const inserted = held.size === items.length ? items : items.filter(({ key }) => held.has(key)) // mutant: pg-insert-taken-for-granted
    const granted = counted.size === items.length ? inserted : inserted.filter(({ key }) => counted.of(key))
    const uncounted = granted.length === inserted.length ? [] : inserted.filter(({ key }) => !counted.of(key))
    const others = inserted.length === items.length ? [] : items.filter(({ key }) => !held.has(key))
    const tried = await triedOf(place, session, uncounted, token)
    const earlier = new Map(uncounted.map((stored) => [stored.key, whyNotCounted(stored, tried.get(stored.key))]))
    if (granted.length === 0 || writer === null) {
      await inbox.abandon(session, token, keysOf(inserted))
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
    if (uncounted.length > 0) await session.run(inbox.removeInserted(keysOf(uncounted), token))
    const seen = others.length === 0 ? [] : await session.run(inbox.readBeside(keysOf(others), token))
    if (seen.some((row) => inbox.mayBeUndone(row))) {
      await inbox.abandon(session, token, keysOf(inserted))
      return await claimOthers(place, request, items, others)
    }
    const records = byKey(seen)
    const begun = granted.map(({ item, key, fp }) => {
      const { attempt = 1, isKnown = false } = counted.of(key) ?? {}
      return { item, key, fp, attempt, isTried: attempt > 1 || isKnown }
    })
    const ledger = new InboxLedger(place, {
      token,
      items: begun,
      inserted: keysOf(inserted),
      writer,
      keepMs: request.retentionMs,
    })
    const keys = granted.map(({ item }) => item.key)
    const transaction = new ClaimTransaction({ place, session, ledger }, { token, keys })
    return items.map((stored) => {
      const attempt = held.has(stored.key) ? counted.of(stored.key) : undefined // mutant: pg-insert-taken-for-granted 2
      if (attempt !== undefined) return grant(stored, request, transaction, attempt)
      return earlier.get(stored.key) ?? ungranted(stored, records)
    })
  } catch (error) {
    await inbox.abandon(session, token, keysOf(items))
    throw error
  }
}

/**
 * Some of `kept` are done but may not be flushed. Wait for the flush without an open transaction, then claim the rest.
 */
async function claimOthers<Tx>(
  place: InboxPlace<Tx>,
  request: ClaimRequest,
  items: readonly StoredItem[],
  kept: readonly StoredItem[],
): Promise<readonly TransactionAnswer<Tx>[]> {
  const records = await recordsOf(place, kept)
  const rest = items.filter((stored) => !kept.includes(stored))
  return merged(items, rest, await claimOnce(place, request, rest), records)
}

async function recordsOf<Tx>(
  { inbox }: InboxPlace<Tx>,
  items: readonly StoredItem[],
): Promise<ReadonlyMap<string, RecordRow>> {
  return items.length === 0 ? new Map() : byKey(await inbox.readForGood(keysOf(items)))
}

function byKey<Row extends { readonly key: string }>(rows: readonly Row[]): ReadonlyMap<string, Row> {
  const found = new Map<string, Row>()
  for (const row of rows) found.set(row.key, row)
  return found
}

function keysOf(items: readonly StoredItem[]): readonly string[] {
  return items.map(({ key }) => key)
}

function grant<Tx>(
  { item: { key, digest } }: StoredItem,
  { scope, token, retentionMs }: ClaimRequest,
  transaction: ClaimTransaction<Tx>,
  { attempt, isKnown }: Counted,
): TransactionAnswer<Tx> {
  // The transaction holds the key. There is no lease that could end, so no fence is needed.
  const fence = 0
  const claimed: TransactionClaim<Tx> = {
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
async function triedOf<Tx>(
  { inbox }: InboxPlace<Tx>,
  session: Session<Tx>,
  items: readonly StoredItem[],
  token: OwnerToken,
): Promise<ReadonlyMap<string, AttemptRow>> {
  return items.length === 0 ? new Map() : byKey(await session.run(inbox.readAttempts(keysOf(items), token)))
}

function whyNotCounted({ fp }: StoredItem, tried: AttemptRow | undefined): TransactionAnswer<never> {
  // Given back a moment ago: the next claim will tell.
  if (tried === undefined) return { verdict: 'again-alone', attempts: 0 }
  if (tried.fp !== null && fp !== null && tried.fp !== fp) return { verdict: 'conflict' }
  if (tried.wait_ms > 0) return { verdict: 'busy', leaseLeftMs: tried.wait_ms }
  return { verdict: 'again-alone', attempts: tried.n }
}

function ungranted({ key, fp }: StoredItem, records: ReadonlyMap<string, RecordRow>): TransactionAnswer<never> {
  const row = records.get(key)
  // Purged or reopened between insert and read: free at the next claim.
  if (row === undefined) return { verdict: 'busy', leaseLeftMs: 0 }
  // Nearly every row is done, and to make its record would take longer than all else.
  const record = row.outcome === 'd' ? undefined : recordOfRow(row)
  if (record?.state === 'unreadable') return { verdict: record.state, found: record.found }
  if (row.fp !== null && fp !== null && row.fp !== fp) return { verdict: 'conflict' } // mutant: pg-digest-uncompared
  if (record === undefined || record.state === 'done') {
    return { verdict: 'done', result: row.result ?? undefined, since: row.since }
  }
  const { state, reason, attempt, since, cause } = record
  return { verdict: state, reason, attempt, since, cause }
}
