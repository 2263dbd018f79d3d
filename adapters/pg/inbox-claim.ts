import type { Claim, ClaimAnswer, ClaimRequest, DurationMs } from '../../src/index.ts'
import { storedItems, type StoredItem } from './bytes.ts'
import { ClaimTransaction } from './claim-transaction.ts'
import { despiteConflicts } from './despite-conflicts.ts'
import { InboxLedger } from './inbox-ledger.ts'
import type { PgTransaction } from './pg-transaction.ts'
import type { Place } from './place.ts'
import type { Session } from './session.ts'
import { readForGood } from './read-for-good.ts'
import { isLockTimeout } from './sql-errors.ts'
import { AnsweredKeys } from './sql/answered-keys.ts'
import { claimTogether } from './sql/claim-keys.ts'
import { countAttempts, Counts, type Counted } from './sql/count-attempts.ts'
import { readAttempts } from './sql/read-attempts.ts'
import { readRecords, type ReadRow } from './sql/read-records.ts'
import { removeKeys } from './sql/remove-keys.ts'

type Answer = ClaimAnswer<PgTransaction>

/** Claims of one store. */
export class InboxClaims {
  /** Duplicates come in heaps: after a rebalance, a rewind, a replay of dead letters. */
  #expectsDuplicates = false

  /** Opens a transaction that holds a row for each key that is granted. Where none is, the transaction ends here. */
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
    return await despiteConflicts(() => claimOnce(place, request, items))
  } catch (error) {
    if (!isLockTimeout(error)) throw error
    // Which of the rows was waited for nobody says.
    return items.map(() => ({ verdict: 'busy', leaseLeftMs: lockTimeoutMs }))
  }
}

/** One look instead of a transaction, which is enough where every key has a record; `undefined` where one has none. */
async function lookFirst(place: Place, items: readonly StoredItem[]): Promise<readonly Answer[] | undefined> {
  const records = await recordsOf(place, { run: (statement) => place.sessions.committed(statement) }, items)
  if (records.size < items.length) return undefined
  return items.map((stored) => ungranted(stored, records))
}

async function claimOnce(
  place: Place,
  request: ClaimRequest,
  items: readonly StoredItem[],
): Promise<readonly Answer[]> {
  const { session, rows } = await place.sessions.begin(claimTogether(place.tables, place.scope, items))
  try {
    const [{ keys: claimed, transaction: writer } = { keys: null, transaction: null }] = rows
    const answered = new AnsweredKeys(claimed, items.length)
    const areAllInserted = answered.size === items.length
    const inserted = areAllInserted ? items : items.filter(({ key }) => answered.has(key))
    const others = areAllInserted ? [] : items.filter(({ key }) => !answered.has(key))
    const records = await recordsOf(place, session, others)
    const attempts = await attemptsOf(place, session, request, inserted)
    const granted = attempts.size === inserted.length ? inserted : inserted.filter(({ key }) => attempts.of(key))
    const uncounted = granted.length === inserted.length ? [] : inserted.filter(({ key }) => !attempts.of(key))
    const earlier = await earlierOf(place, session, uncounted)
    if (granted.length === 0 || writer === null) {
      await session.rollback()
      return items.map((stored) => ungranted(stored, records, earlier))
    }
    const { token } = request
    const ledger = new InboxLedger(place, { token, items: granted, transaction: writer })
    const keys = granted.map(({ item }) => item.key)
    const transaction = new ClaimTransaction({ sessions: place.sessions, session, ledger }, { token, keys })
    return items.map((stored) => {
      const isInserted = answered.has(stored.key)
      const attempt = isInserted ? attempts.of(stored.key) : undefined
      return attempt === undefined ? ungranted(stored, records, earlier) : grant(stored, request, transaction, attempt)
    })
  } catch (error) {
    await session.rollback()
    throw error
  }
}

async function recordsOf(
  { sessions, tables, scope }: Place,
  session: Pick<Session, 'run'>,
  items: readonly StoredItem[],
): Promise<ReadonlyMap<string, ReadRow>> {
  if (items.length === 0) return new Map()
  const statement = readRecords(
    tables,
    scope,
    items.map(({ key }) => key),
  )
  const records = await readForGood(sessions, session, statement)
  return new Map(records.map((record) => [record.key, record]))
}

/** Counts, and takes out of the transaction again what has an earlier attempt and must not share it. */
async function attemptsOf(
  { tables, scope }: Place,
  session: Session,
  { token, alone }: ClaimRequest,
  inserted: readonly StoredItem[],
): Promise<Counts> {
  if (inserted.length === 0) return new Counts([], 0)
  const keys = inserted.map(({ key }) => key)
  const attempts = new Counts(await session.beside(countAttempts(tables, { scope, keys, token, alone })), keys.length)
  if (attempts.size === 0 || attempts.size === keys.length) return attempts
  const uncounted = keys.filter((key) => attempts.of(key) === undefined)
  await session.run(removeKeys(tables, scope, uncounted))
  return attempts
}

function grant(
  { item: { key, digest } }: StoredItem,
  { scope, token, retentionMs }: ClaimRequest,
  transaction: ClaimTransaction,
  { attempt, isKnown }: Counted,
): Answer {
  // The transaction is what holds the key: there is no lease that could end, so nothing to fence off.
  const fence = 0
  const claimed: Claim<PgTransaction> = { key, digest, scope, token, fence, attempt, retentionMs, transaction }
  const answer = { verdict: 'claimed', fence, attempt, claim: claimed } as const
  return isKnown ? { ...answer, isKnown } : answer
}

/** How often each of these was tried, which nobody holds and this claim has not counted. */
async function earlierOf(
  { tables, scope }: Place,
  session: Session,
  items: readonly StoredItem[],
): Promise<ReadonlyMap<string, number>> {
  if (items.length === 0) return new Map()
  const keys = items.map(({ key }) => key)
  const rows = await session.run(readAttempts(tables, scope, keys))
  const counted = new Map(rows.map(({ key, n }) => [key, n]))
  // Given back this moment: claimed again, it tells.
  return new Map(keys.map((key) => [key, counted.get(key) ?? 0]))
}

function ungranted(
  { key, fp }: StoredItem,
  records: ReadonlyMap<string, ReadRow>,
  earlier: ReadonlyMap<string, number> = new Map(),
): Answer {
  const attempts = earlier.get(key)
  if (attempts !== undefined) return { verdict: 'again-alone', attempts }
  const record = records.get(key)
  // Purged or reopened between the insert and the look: claimed again, it is free.
  if (record === undefined) return { verdict: 'busy', leaseLeftMs: 0 }
  if (record.fp !== null && fp !== null && record.fp !== fp) return { verdict: 'conflict' }
  if (record.outcome === 'd') return { verdict: 'done', result: record.result ?? undefined }
  return { verdict: record.outcome === 'g' ? 'given-up' : 'parked', reason: record.reason ?? '' }
}
