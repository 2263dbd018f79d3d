import type { Claim, ClaimAnswer, ClaimRequest, DurationMs } from '../../src/index.ts'
import { storedItem, type StoredItem } from './bytes.ts'
import { ClaimTransaction } from './claim-transaction.ts'
import { despiteConflicts } from './despite-conflicts.ts'
import { InboxLedger } from './inbox-ledger.ts'
import type { PgTransaction } from './pg-transaction.ts'
import type { Place } from './place.ts'
import type { Session } from './session.ts'
import { readForGood } from './read-for-good.ts'
import { isLockTimeout } from './sql-errors.ts'
import { claimTogether } from './sql/claim-keys.ts'
import { countAttempts, readCounted, type Counted } from './sql/count-attempts.ts'
import { readRecords, type ReadRow } from './sql/read-records.ts'
import { removeKeys } from './sql/remove-keys.ts'

type Answer = ClaimAnswer<PgTransaction>

/** Claims of one store. */
export class InboxClaims {
  /** Duplicates come in heaps: after a rebalance, a rewind, a replay of dead letters. */
  #expectsDuplicates = false

  /** Opens a transaction that holds a row for each key that is granted. Where none is, the transaction ends here. */
  async claim(place: Place, request: ClaimRequest, lockTimeoutMs: DurationMs): Promise<readonly Answer[]> {
    const items = request.items.map(storedItem)
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
  return items.map((stored) => ungranted(stored, new Set(), records))
}

async function claimOnce(
  place: Place,
  request: ClaimRequest,
  items: readonly StoredItem[],
): Promise<readonly Answer[]> {
  const { session, rows } = await place.sessions.begin(claimTogether(place.tables, place.scope, items))
  try {
    const [{ keys: claimed, transaction: writer } = { keys: null, transaction: null }] = rows
    const inserted = new Set(claimed?.split(','))
    const records = await recordsOf(
      place,
      session,
      items.filter(({ key }) => !inserted.has(key)),
    )
    const attempts = await attemptsOf(place, session, request, [...inserted])
    const granted = items.filter(({ key }) => attempts.has(key))
    if (granted.length === 0 || writer === null) {
      await session.rollback()
      return items.map((stored) => ungranted(stored, inserted, records))
    }
    const { token } = request
    const ledger = new InboxLedger(place, { token, items: granted, transaction: writer })
    const keys = granted.map(({ item }) => item.key)
    const transaction = new ClaimTransaction({ sessions: place.sessions, session, ledger }, { token, keys })
    return items.map((stored) => {
      const attempt = attempts.get(stored.key)
      return attempt === undefined ? ungranted(stored, inserted, records) : grant(stored, request, transaction, attempt)
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
  keys: readonly string[],
): Promise<ReadonlyMap<string, Counted>> {
  if (keys.length === 0) return new Map()
  const attempts = readCounted(await session.beside(countAttempts(tables, { scope, keys, token, alone })))
  const uncounted = keys.filter((key) => !attempts.has(key))
  if (uncounted.length > 0 && attempts.size > 0) await session.run(removeKeys(tables, scope, uncounted))
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
  return { verdict: 'claimed', fence, attempt, claim: claimed, ...(isKnown ? { isKnown: true } : {}) }
}

function ungranted(
  { key, fp }: StoredItem,
  inserted: ReadonlySet<string>,
  records: ReadonlyMap<string, ReadRow>,
): Answer {
  if (inserted.has(key)) return { verdict: 'again-alone' }
  const record = records.get(key)
  // Purged or reopened between the insert and the look: claimed again, it is free.
  if (record === undefined) return { verdict: 'busy', leaseLeftMs: 0 }
  if (record.fp !== null && fp !== null && record.fp !== fp) return { verdict: 'conflict' }
  if (record.outcome === 'd') return { verdict: 'done', result: record.result ?? undefined }
  return { verdict: record.outcome === 'g' ? 'given-up' : 'parked', reason: record.reason ?? '' }
}
