import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  StoreError,
  TransactionError,
  type Claim,
  type Key,
  type MarkVerdict,
  type OpenTransaction,
  type OwnerToken,
  type ReleaseOptions,
  type ReleaseVerdict,
  type SetAsideVerdict,
} from '../../src/index.ts'
import { warnOfLateQuery } from './late-query.ts'
import type { HoldingBack, Ledger, MarkingFailure, Results, SettingAside } from './ledger.ts'
import { Lending } from './lending.ts'
import type { LentPgTransaction, PgTransaction } from './pg-transaction.ts'
import type { Place } from './place.ts'
import type { Session } from './session.ts'
import { storable } from './set-keys-aside.ts'
import {
  explainRefusal,
  isConflictOfTransactions,
  isLockTimeout,
  isRefusal,
  isShutdown,
  isUnstorable,
} from './sql-errors.ts'
import type { Statement } from './sql/statement.ts'

type Phase =
  | 'open'
  | 'marked'
  /** The COMMIT was sent and its answer was lost. */
  | 'unknown'
  /** Rolled back; a failure is being marked in its place, and the answer may be lost. */
  | 'failing'
  /** Surely nothing was committed, and nothing will be. */
  | 'over'

/** The transaction of all claims of one call. What is asked of it runs in turn: a call sent again waits for the first. */
export class ClaimTransaction implements OpenTransaction<PgTransaction> {
  /** All claims of it. */
  readonly keys: ReadonlySet<Key>
  readonly #token: OwnerToken
  readonly #ledger: Ledger
  readonly #place: Place
  readonly #session: Session
  readonly #lending: Lending
  readonly #released = new Set<Key>()
  /** Refunded, or held back. */
  readonly #told = new Set<Key>()
  #owesAttempts = false
  /** It was chosen to lose at its end, or its backend was lost. */
  #hasLost = false
  /** Counted once. */
  #losses: { readonly inARow: number | undefined } | undefined
  #phase: Phase = 'open'
  #failure: Omit<MarkingFailure, 'isSentAgain'> | undefined
  #last: Promise<unknown> = Promise.resolve()

  constructor(
    parts: { readonly place: Place; readonly session: Session; readonly ledger: Ledger },
    granted: { readonly token: OwnerToken; readonly keys: readonly Key[] },
  ) {
    this.keys = new Set(granted.keys)
    this.#token = granted.token
    this.#ledger = parts.ledger
    this.#place = parts.place
    this.#session = parts.session
    this.#lending = new Lending(parts.session, () => warnOfLateQuery(parts.place.sessions))
  }

  get isOpen(): boolean {
    return this.#phase === 'open' && this.#session.spoiledBy === undefined
  }

  get lossesInARow(): number | undefined {
    if (!this.#isLost) return undefined
    this.#losses ??= { inARow: this.#place.losses.add(this.#names()) }
    return this.#losses.inARow
  }

  /** Only what this claim call gave can end what it opened. */
  owns({ key, token }: Claim<PgTransaction>): boolean {
    return token === this.#token && this.keys.has(key)
  }

  lend(): LentPgTransaction {
    const lent = this.#lending.lend()
    if (this.#phase !== 'open') lent.revoke()
    return lent
  }

  /** Commits. Keeps `results` with the marks. */
  mark(results: Results): Promise<ReadonlyMap<Key, MarkVerdict>> {
    return this.#mark(async () => this.#all(await this.#commit(results)))
  }

  /** Rolls back, and marks its only key in its place. */
  markFailure(failure: Omit<MarkingFailure, 'isSentAgain'>): Promise<ReadonlyMap<Key, MarkVerdict>> {
    return this.#mark(() => this.#fail(failure))
  }

  #mark(begin: () => Promise<ReadonlyMap<Key, MarkVerdict>>): Promise<ReadonlyMap<Key, MarkVerdict>> {
    return this.#inTurn(async () => {
      switch (this.#phase) {
        case 'open':
          return begin()
        case 'failing':
          return this.#fail(this.#failure)
        case 'marked':
          return this.#all('already-marked')
        case 'over':
          if (this.#owesAttempts) await this.#refundAll()
          return this.#all('refused-busy')
        case 'unknown':
          return this.#resolve()
      }
    })
  }

  /** Rolls back; gives the attempts of `claims` back, or tells when and why there is another: each once. */
  release(
    claims: readonly Claim<PgTransaction>[],
    { refund, delayMs = 0, cause }: ReleaseOptions,
  ): Promise<readonly ReleaseVerdict[]> {
    return this.#inTurn(async () => {
      if (this.#phase !== 'open' && this.#phase !== 'over') return claims.map(() => 'refused')
      const keys = claims.map(({ key }) => key)
      const verdicts = keys.map((key) => (this.#released.has(key) ? 'already-released' : 'released'))
      for (const key of keys) this.#released.add(key)
      const isBlameless = this.lossesInARow !== undefined || refund
      const untold = keys.filter((key) => !this.#told.has(key))
      if (isBlameless) await this.#rollBack(untold)
      else if (delayMs > 0 || cause !== undefined) await this.#holdBack(untold, { delayMs, cause })
      else await this.#rollBack([])
      return verdicts
    })
  }

  /** Rolls back, and writes records in its place. Refused where another owner was quicker. */
  setAside(claims: readonly Claim<PgTransaction>[], how: SettingAside): Promise<readonly SetAsideVerdict[]> {
    this.#place.losses.forget(this.#names())
    return this.#inTurn(() =>
      this.#ledger.setAside(
        claims.map(({ key }) => key),
        how,
        (statement) => this.#replace(statement, 'over'),
      ),
    )
  }

  /** Ends it without a mark and runs `statement` in its place, before anyone else has the connection. */
  async #replace<Row>(statement: Statement<Row>, next: 'failing' | 'over'): Promise<readonly Row[]> {
    if (this.#phase !== 'open') return this.#place.sessions.committed(statement)
    this.#lending.revoke()
    this.#phase = next
    return this.#session.replace(statement)
  }

  async #fail(failure: Omit<MarkingFailure, 'isSentAgain'> | undefined): Promise<ReadonlyMap<Key, MarkVerdict>> {
    const [key, other] = this.keys
    if (failure === undefined || key === undefined || other !== undefined || this.#ledger.markFailure === undefined) {
      throw new StoreError('STORE_MISUSED', 'expected a failure of the only claim of an inbox transaction')
    }
    this.#failure = failure
    const how = { ...failure, isSentAgain: this.#phase === 'failing' }
    const verdict = await this.#ledger.markFailure(key, how, (statement) => this.#replace(statement, 'failing'))
    this.#phase = verdict === 'marked' || verdict === 'already-marked' ? 'marked' : 'over'
    return new Map([[key, verdict]])
  }

  async #commit(results: Results): Promise<'marked' | 'refused-busy'> {
    this.#lending.revoke()
    // Within a turn of the event loop an ORM has asked for its client, and sent what its handler asked for and did not await:
    // refused by now, it shows.
    await nextTurn()
    if (this.#lending.hasFloated) {
      await this.#rollBack([])
      const text = 'a handler ended with a query that it did not await: the transaction was rolled back'
      throw new TransactionError('FLOATING_QUERY', text)
    }
    // Lost before the COMMIT is sent, it surely never happened.
    const isSent = this.#session.spoiledBy === undefined
    this.#phase = isSent ? 'unknown' : 'over'
    try {
      const tag = await this.#session.commit(this.#ledger.mark(results))
      if (tag === 'ROLLBACK') throw this.#refused('the COMMIT was answered ROLLBACK')
      if (tag !== 'COMMIT') throw new StoreError('STORE_AMBIGUOUS', `the COMMIT was answered ${tag}`)
      this.#phase = 'marked'
      this.#lending.marked()
      this.#place.losses.forget(this.#names())
      return 'marked'
    } catch (error) {
      if (!isSent) await this.#refundLost()
      if (!isRefusal(error)) throw error
      this.#phase = 'over'
      const isTakenOver = this.#ledger.isTakenOver(error)
      if (isTakenOver) await this.#refundQuietly()
      else if (isConflictOfTransactions(error)) await this.#refundLost()
      if (isTakenOver) return 'refused-busy'
      throw this.#refused(explainRefusal(error), error)
    }
  }

  #refused(why: string, cause?: unknown): TransactionError {
    this.#phase = 'over'
    return new TransactionError('COMMIT_REFUSED', `no mark was committed: ${why}`, { cause })
  }

  async #resolve(): Promise<ReadonlyMap<Key, MarkVerdict>> {
    const verdicts = await this.#ledger.whatWasCommitted()
    const isMarked = [...verdicts.values()].includes('already-marked')
    this.#phase = isMarked ? 'marked' : 'over'
    if (isMarked) this.#lending.marked()
    else await this.#refundLost()
    return verdicts
  }

  async #rollBack(refunded: readonly Key[]): Promise<void> {
    if (this.#phase === 'open') {
      this.#lending.revoke()
      this.#phase = 'over'
      if (refunded.length === 0) return this.#session.rollback()
      // Whoever waits for the keys must find the attempts given back. A handler that has ended the transaction gets none back.
      const released = await this.#session.release(this.#ledger.release(refunded))
      if (released === 'lost') await this.#refund(refunded)
    } else if (refunded.length > 0) await this.#refund(refunded)
    for (const key of refunded) this.#told.add(key)
  }

  /** Whoever waits for the keys must find them held back. */
  async #holdBack(keys: readonly Key[], how: HoldingBack): Promise<void> {
    const told = this.#ledger.holdBack?.(keys, how)
    if (told === undefined || keys.length === 0) return this.#rollBack([])
    const wasOpen = this.#phase === 'open'
    this.#lending.revoke()
    this.#phase = 'over'
    const released = wasOpen ? await this.#session.release(told.inTransaction) : 'lost'
    if (released !== 'released') await this.#holdBackLate(keys, how)
    for (const key of keys) this.#told.add(key)
  }

  /** What this transaction does not hold any more: its claim was the last that counted them, or nothing is told. */
  async #holdBackLate(keys: readonly Key[], how: HoldingBack): Promise<void> {
    try {
      const told = this.#ledger.holdBack?.(keys, how)
      if (told !== undefined) await this.#place.sessions.briefly(told.afterwards)
    } catch (error) {
      const { cause } = how
      if (isUnstorable(error) && cause !== undefined && cause !== storable(cause)) {
        return this.#holdBackLate(keys, { ...how, cause: storable(cause) })
      }
      // Another owner counts a key just now.
      if (!isLockTimeout(error)) throw error
    }
  }

  /** Of keys that this transaction does not hold any more. */
  async #refund(keys: readonly Key[]): Promise<void> {
    try {
      await this.#place.sessions.briefly(this.#ledger.refund(keys))
    } catch (error) {
      // Another owner has taken a key, and has counted by itself.
      if (!isLockTimeout(error)) throw error
    }
  }

  async #refundLost(): Promise<void> {
    this.#hasLost = true
    if (this.lossesInARow !== undefined) await this.#refundQuietly()
  }

  /** The store failed, not the handler. Where it fails at this too, the next call about the mark tries again. */
  async #refundQuietly(): Promise<void> {
    this.#owesAttempts = true
    await this.#refundAll().catch(() => {})
  }

  async #refundAll(): Promise<void> {
    await this.#refund([...this.keys])
    this.#owesAttempts = false
  }

  /** Without a fault of a handler, for all that is known. */
  get #isLost(): boolean {
    return this.#hasLost || this.#lending.hasLost || isShutdown(this.#session.spoiledBy)
  }

  /** The keys, of whatever scope. */
  #names(): readonly string[] {
    return [...this.keys].map((key) => `${this.#place.scope} ${key}`)
  }

  #all(verdict: MarkVerdict): ReadonlyMap<Key, MarkVerdict> {
    return new Map([...this.keys].map((key) => [key, verdict]))
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const asked = this.#last.then(work)
    this.#last = asked.catch(() => {})
    return asked
  }
}
