import {
  StoreError,
  TransactionError,
  type Claim,
  type Key,
  type MarkVerdict,
  type OpenTransaction,
  type OwnerToken,
  type ReleaseVerdict,
} from '../../src/index.ts'
import type { StoredItem } from './bytes.ts'
import { Lending } from './lending.ts'
import type { LentPgTransaction, PgTransaction } from './pg-transaction.ts'
import type { Place } from './place.ts'
import type { Session } from './session.ts'
import { explainRefusal, isConflictOfTransactions, isRefusal, isShutdown } from './sql-errors.ts'
import { forgetAttempts } from './sql/forget-attempts.ts'
import { refundAttempts } from './sql/refund-attempts.ts'
import type { Script, Statement } from './sql/statement.ts'
import { whatWasCommitted } from './what-was-committed.ts'

type Phase =
  | 'open'
  | 'marked'
  /** The COMMIT was sent and its answer was lost. */
  | 'unknown'
  /** Surely nothing was committed, and nothing will be. */
  | 'over'

/** The transaction of all claims of one call. What is asked of it runs in turn: a call sent again waits for the first. */
export class InboxTransaction implements OpenTransaction<PgTransaction> {
  readonly place: Place
  readonly token: OwnerToken
  readonly items: ReadonlyMap<Key, StoredItem>
  readonly #session: Session
  /** Of the row versions it wrote. */
  readonly #id: string
  readonly #lending: Lending
  readonly #released = new Set<Key>()
  readonly #refunded = new Set<Key>()
  #phase: Phase = 'open'
  #last: Promise<unknown> = Promise.resolve()

  constructor(
    place: Place,
    session: Session,
    granted: { token: OwnerToken; items: readonly StoredItem[]; id: string },
  ) {
    this.place = place
    this.token = granted.token
    this.items = new Map(granted.items.map((stored) => [stored.item.key, stored]))
    this.#id = granted.id
    this.#session = session
    this.#lending = new Lending(session)
  }

  get isOpen(): boolean {
    return this.#phase === 'open' && this.#session.spoiledBy === undefined
  }

  /** Only what this claim call gave can end what it opened. */
  owns({ key, token }: Claim<PgTransaction>): boolean {
    return token === this.token && this.items.has(key)
  }

  lend(): LentPgTransaction {
    const lent = this.#lending.lend()
    if (this.#phase !== 'open') lent.revoke()
    return lent
  }

  mark(): Promise<ReadonlyMap<Key, MarkVerdict>> {
    return this.#inTurn(async () => {
      switch (this.#phase) {
        case 'open':
          await this.#commit()
          return this.#all('marked')
        case 'marked':
          return this.#all('already-marked')
        case 'over':
          return this.#all('refused-busy')
        case 'unknown':
          return this.#resolve()
      }
    })
  }

  /** Rolls back; gives the attempts of `claims` back, each once, if asked to. */
  release(claims: readonly Claim<PgTransaction>[], refund: boolean): Promise<readonly ReleaseVerdict[]> {
    return this.#inTurn(async () => {
      if (this.#phase === 'marked' || this.#phase === 'unknown') return claims.map(() => 'refused')
      const keys = claims.map(({ key }) => key)
      const verdicts = keys.map((key) => (this.#released.has(key) ? 'already-released' : 'released'))
      for (const key of keys) this.#released.add(key)
      const isBlameless = refund || isShutdown(this.#session.spoiledBy)
      await this.#rollBack(isBlameless ? keys.filter((key) => !this.#refunded.has(key)) : [])
      return verdicts
    })
  }

  /** Ends it without a mark and runs `statement` in its place, before anyone else has the connection. */
  replace<Row>(statement: Statement<Row>): Promise<readonly Row[]> {
    return this.#inTurn(async () => {
      if (this.#phase !== 'open') return this.place.sessions.committed(statement)
      this.#lending.revoke()
      this.#phase = 'over'
      return this.#session.replace(statement)
    })
  }

  async #commit(): Promise<void> {
    this.#lending.revoke()
    if (this.#lending.hasFloated) {
      await this.#rollBack([])
      const text = 'a handler ended with a query that it did not await: the transaction was rolled back'
      throw new TransactionError('FLOATING_QUERY', text)
    }
    const { tables, scope } = this.place
    // Lost before the COMMIT is sent, it surely never happened.
    const isSent = this.#session.spoiledBy === undefined
    this.#phase = isSent ? 'unknown' : 'over'
    try {
      const keys = [...this.items.values()].map(({ key }) => key)
      const tag = await this.#session.commit(forgetAttempts(tables, scope, keys))
      if (tag === 'ROLLBACK') throw this.#refused('the COMMIT was answered ROLLBACK')
      if (tag !== 'COMMIT') throw new StoreError('STORE_AMBIGUOUS', `the COMMIT was answered ${tag}`)
      this.#phase = 'marked'
    } catch (error) {
      if (!isSent) await this.#refundQuietly()
      if (!isRefusal(error)) throw error
      this.#phase = 'over'
      if (isConflictOfTransactions(error)) await this.#refundQuietly()
      throw this.#refused(explainRefusal(error), error)
    }
  }

  #refused(why: string, cause?: unknown): TransactionError {
    this.#phase = 'over'
    return new TransactionError('COMMIT_REFUSED', `no mark was committed: ${why}`, { cause })
  }

  async #resolve(): Promise<ReadonlyMap<Key, MarkVerdict>> {
    const verdicts = await whatWasCommitted(this.place, [...this.items.values()], this.#id)
    const isMarked = [...verdicts.values()].includes('already-marked')
    this.#phase = isMarked ? 'marked' : 'over'
    if (!isMarked) await this.#refundQuietly()
    return verdicts
  }

  async #rollBack(refunded: readonly Key[]): Promise<void> {
    const refund = refunded.length === 0 ? undefined : this.#refund(refunded)
    if (this.#phase === 'open') {
      this.#lending.revoke()
      this.#phase = 'over'
      await this.#session.rollback(refund)
    } else if (refund !== undefined) await this.place.sessions.committed(refund)
    for (const key of refunded) this.#refunded.add(key)
  }

  /** The store failed, not the handler. An attempt too many is no reason for another error. */
  async #refundQuietly(): Promise<void> {
    await this.place.sessions.committed(this.#refund([...this.items.keys()])).catch(() => {})
  }

  #refund(keys: readonly Key[]): Script {
    const hex = keys.flatMap((key) => this.items.get(key)?.key ?? [])
    return refundAttempts(this.place.tables, { scope: this.place.scope, keys: hex, token: this.token })
  }

  #all(verdict: MarkVerdict): ReadonlyMap<Key, MarkVerdict> {
    return new Map([...this.items.keys()].map((key) => [key, verdict]))
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => {})
    return turn
  }
}
