import {
  StoreError,
  TransactionError,
  type TransactionClaim,
  type Key,
  type MarkVerdict,
  type OpenTransaction,
  type OwnerToken,
  type ReleaseOptions,
  type ReleaseVerdict,
  type Result,
  type SetAsideVerdict,
} from '../../../src/spi.ts'
import { Lending } from '../tx/lending.ts'
import type { LentMysqlTransaction, MysqlTransaction } from '../tx/mysql-transaction.ts'
import type { Place } from '../place.ts'
import type { Session } from '../sessions/session.ts'
import { explainRefusal, isConflictOfTransactions, isRefusal, isShutdown } from '../sql-errors.ts'
import type { Script } from '../statements/script.ts'
import type { InboxLedger, SettingAside } from './ledger.ts'

type Phase =
  | 'open'
  | 'marked'
  /** The COMMIT was sent and its answer was lost. */
  | 'unknown'
  /** Rolled back. A failure is being marked instead, and the answer may be lost. */
  | 'failing'
  /** Nothing was committed, and nothing will be. */
  | 'over'

/**
 * The transaction of all claims of one call. Its methods run one after the other: a call that is sent again waits for
 * the first.
 */
export class ClaimTransaction implements OpenTransaction<MysqlTransaction> {
  /** The keys of all its claims. */
  readonly keys: ReadonlySet<Key>
  readonly #token: OwnerToken
  readonly #ledger: InboxLedger
  readonly #place: Place
  readonly #session: Session
  readonly #lending: Lending
  readonly #released = new Set<Key>()
  readonly #refunded = new Set<Key>()
  #owesAttempts = false
  /** It was a deadlock victim at its end, or its connection was lost. */
  #hasLost = false
  /** Counted once. */
  #losses: { readonly inARow: number | undefined } | undefined
  #phase: Phase = 'open'
  #failure: Result | undefined
  #last: Promise<unknown> = Promise.resolve()

  constructor(
    parts: { readonly place: Place; readonly session: Session; readonly ledger: InboxLedger },
    granted: { readonly token: OwnerToken; readonly keys: readonly Key[] },
  ) {
    this.keys = new Set(granted.keys)
    this.#token = granted.token
    this.#ledger = parts.ledger
    this.#place = parts.place
    this.#session = parts.session
    this.#lending = new Lending(parts.session)
  }

  get isOpen(): boolean {
    return this.#phase === 'open' && this.#session.spoiledBy === undefined
  }

  get lossesInARow(): number | undefined {
    if (!this.#isLost) return undefined
    this.#losses ??= { inARow: this.#place.losses.add(this.#names()) }
    return this.#losses.inARow
  }

  /** Only a claim of this call can end the transaction that the call opened. */
  owns({ key, token }: TransactionClaim<MysqlTransaction>): boolean {
    return token === this.#token && this.keys.has(key)
  }

  lend(): LentMysqlTransaction {
    const lent = this.#lending.lend()
    if (this.#phase !== 'open') lent.revoke()
    return lent
  }

  /** Commits. Keeps `results` with the marks. */
  mark(results: ReadonlyMap<Key, Result>): Promise<ReadonlyMap<Key, MarkVerdict>> {
    return this.#mark(async () => {
      await this.#commit(results)
      return this.#all('marked')
    })
  }

  /** Rolls back, and marks its only key with the failure. */
  markFailure(result: Result): Promise<ReadonlyMap<Key, MarkVerdict>> {
    return this.#mark(() => this.#fail(result))
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

  /**
   * Rolls back. Gives the attempts of `claims` back if requested, or writes their backoff and cause; each only once.
   */
  release(
    claims: readonly TransactionClaim<MysqlTransaction>[],
    { refund, delayMs = 0, cause }: ReleaseOptions,
  ): Promise<readonly ReleaseVerdict[]> {
    return this.#inTurn(async () => {
      if (this.#phase !== 'open' && this.#phase !== 'over') return claims.map(() => 'refused')
      const keys = claims.map(({ key }) => key)
      const verdicts = keys.map((key) => (this.#released.has(key) ? 'already-released' : 'released'))
      for (const key of keys) this.#released.add(key)
      const isBlameless = this.lossesInARow !== undefined || refund // mutant: mysql-attempts-not-kept
      if (isBlameless) await this.#rollBack(keys.filter((key) => !this.#refunded.has(key)))
      else
        await this.#rollBack(
          [],
          delayMs > 0 || cause !== undefined ? this.#ledger.holdBack(keys, delayMs, cause) : undefined,
        )
      return verdicts
    })
  }

  /** Rolls back, and writes the records instead. Refused if another owner was quicker. */
  setAside(
    claims: readonly TransactionClaim<MysqlTransaction>[],
    how: SettingAside,
  ): Promise<readonly SetAsideVerdict[]> {
    const keys = claims.map(({ key }) => key)
    this.#place.losses.forget(this.#names())
    return this.#inTurn(() => this.#ledger.setAside(keys, how, (script) => this.#replace(script, 'over')))
  }

  /** Ends the transaction without a mark and runs `script` on its connection, before anybody else gets that. */
  async #replace<Row>(script: Script<Row>, next: 'failing' | 'over'): Promise<readonly Row[]> {
    if (this.#phase !== 'open') return this.#place.sessions.committed(script)
    this.#lending.revoke()
    this.#phase = next
    return this.#session.replace(script)
  }

  async #fail(result: Result | undefined): Promise<ReadonlyMap<Key, MarkVerdict>> {
    const [key, other] = this.keys
    if (result === undefined || key === undefined || other !== undefined) {
      throw new StoreError('STORE_MISUSED', 'expected a failure of the only claim of an inbox transaction')
    }
    this.#failure = result
    const how = { result, isSentAgain: this.#phase === 'failing' }
    const verdict = await this.#ledger.markFailure(key, how, (script) => this.#replace(script, 'failing'))
    this.#phase = verdict === 'marked' || verdict === 'already-marked' ? 'marked' : 'over'
    return new Map([[key, verdict]])
  }

  async #commit(results: ReadonlyMap<Key, Result>): Promise<void> {
    this.#lending.revoke()
    if (this.#lending.hasFloated) {
      await this.#rollBack([])
      const text = 'a handler ended with a query that it did not await: the transaction was rolled back'
      throw new TransactionError('FLOATING_QUERY', text)
    }
    const { failure } = this.#session
    // mutant: mysql-failed-statement-committed
    if (failure !== undefined) {
      await this.#rollBack([])
      throw this.#refused(failure.message, failure.cause ?? failure)
    }
    // If the connection was lost before the COMMIT is sent, nothing was committed.
    const isSent = this.#session.spoiledBy === undefined
    this.#phase = isSent ? 'unknown' : 'over' // mutant: mysql-lost-reply-taken-for-a-failure
    try {
      await this.#session.commit(this.#ledger.mark(results))
      this.#phase = 'marked'
      this.#place.losses.forget(this.#names())
    } catch (error) {
      if (!isSent) await this.#refundLost()
      if (!isRefusal(error)) throw error
      if (isConflictOfTransactions(error)) await this.#refundLost()
      throw this.#refused(explainRefusal(error), error)
    }
  }

  #refused(why: string, cause: unknown): TransactionError {
    this.#phase = 'over'
    return new TransactionError('COMMIT_REFUSED', `no mark was committed: ${why}`, { cause })
  }

  async #resolve(): Promise<ReadonlyMap<Key, MarkVerdict>> {
    const verdicts = await this.#ledger.whatWasCommitted()
    const isMarked = [...verdicts.values()].includes('already-marked')
    this.#phase = isMarked ? 'marked' : 'over'
    if (!isMarked) await this.#refundLost()
    return verdicts
  }

  /** Rolls back, and commits a change of the attempts on its own. */
  async #rollBack(
    refunded: readonly Key[],
    told = refunded.length === 0 ? undefined : this.#ledger.refund(refunded),
  ): Promise<void> {
    if (this.#phase === 'open') {
      this.#lending.revoke()
      this.#phase = 'over'
      await this.#session.rollback(told) // mutant: mysql-release-commits
    } else if (told !== undefined) await this.#place.sessions.committed(told)
    for (const key of refunded) this.#refunded.add(key)
  }

  async #refundLost(): Promise<void> {
    this.#hasLost = true
    if (this.lossesInARow !== undefined) await this.#refundQuietly()
  }

  /** The store failed, not the handler. If the refund fails too, the next call about the mark tries it again. */
  async #refundQuietly(): Promise<void> {
    this.#owesAttempts = true
    await this.#refundAll().catch(() => {})
  }

  async #refundAll(): Promise<void> {
    await this.#place.sessions.committed(this.#ledger.refund([...this.keys]))
    this.#owesAttempts = false
  }

  /**
   * The transaction was lost through no fault of a handler, as far as is known: it was a deadlock victim, or the server
   * went down.
   */
  get #isLost(): boolean {
    const { failure, spoiledBy } = this.#session
    return this.#hasLost || isConflictOfTransactions(failure?.cause) || isShutdown(spoiledBy)
  }

  /** Scope and key, because the losses are shared by all scopes. */
  #names(): readonly string[] {
    return [...this.keys].map((key) => `${this.#place.scope} ${key}`)
  }

  #all(verdict: MarkVerdict): ReadonlyMap<Key, MarkVerdict> {
    return new Map([...this.keys].map((key) => [key, verdict]))
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => {})
    return turn
  }
}
