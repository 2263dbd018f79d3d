import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  StoreError,
  TransactionError,
  type Claim,
  type TransactionClaim,
  type Key,
  type MarkVerdict,
  type OpenTransaction,
  type Outgoing,
  type OwnerToken,
  type ReleaseOptions,
  type ReleaseVerdict,
  type SetAsideVerdict,
} from '../../src/internal.ts'
import { despiteEncoding, type SqlErrors } from './errors.ts'
import { warnOfLateQuery } from './late-query.ts'
import type { HoldingBack, Ledger, MarkingFailure, Results, SettingAside } from './ledger.ts'
import { Lending } from './lending.ts'
import type { Place } from './place.ts'
import type { Lent, Script, Session } from './session.ts'
import { Turns } from './turns.ts'

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
export class ClaimTransaction<Tx> implements OpenTransaction<Tx> {
  /** The keys of all its claims. */
  readonly keys: ReadonlySet<Key>
  readonly #token: OwnerToken
  readonly #ledger: Ledger
  readonly #place: Place<Tx>
  readonly #session: Session<Tx>
  readonly #lending: Lending<Tx>
  readonly #givenBack = new Set<Key>()
  readonly #released = new Set<Key>()
  /** Keys whose attempts were refunded or whose backoff was written. */
  readonly #told = new Set<Key>()
  #owesAttempts = false
  /** It was a deadlock victim at its end, or its backend was lost. */
  #hasLost = false
  /** Counted once. */
  #losses: { readonly inARow: number | undefined } | undefined
  #phase: Phase = 'open'
  #failure: Omit<MarkingFailure, 'isSentAgain'> | undefined
  readonly #outgoing: Outgoing[] = []
  readonly #turns = new Turns()
  readonly publish?: (messages: readonly Outgoing[]) => void

  constructor(
    parts: { readonly place: Place<Tx>; readonly session: Session<Tx>; readonly ledger: Ledger },
    granted: { readonly token: OwnerToken; readonly keys: readonly Key[] },
  ) {
    this.keys = new Set(granted.keys)
    this.#token = granted.token
    this.#ledger = parts.ledger
    this.#place = parts.place
    this.#session = parts.session
    const { sessions } = parts.place
    if (parts.place.outgoing !== undefined) this.publish = (messages) => void this.#outgoing.push(...messages)
    this.#lending = new Lending(parts.session, sessions.errors, () => warnOfLateQuery(sessions))
  }

  get isOpen(): boolean {
    return this.#phase === 'open' && this.#session.spoiledBy === undefined
  }

  get isChanged(): boolean {
    return this.#session.isChanged // mutant: session-change-untold
  }

  get lossesInARow(): number | undefined {
    if (!this.#isLost) return undefined
    this.#losses ??= { inARow: this.#place.losses.add(this.#names()) }
    return this.#losses.inARow
  }

  /** How many claims a mark must name. */
  get toMark(): number {
    return this.keys.size - this.#givenBack.size
  }

  giveBack(claims: readonly Claim[]): void {
    for (const { key } of claims) if (this.keys.has(key)) this.#givenBack.add(key)
  }

  /** Only a claim of this call can end the transaction that the call opened. */
  owns({ key, token }: TransactionClaim<Tx>): boolean {
    return token === this.#token && this.keys.has(key)
  }

  /** Runs a read of the store in it, before a handler gets it. */
  read<Row>(script: Script<Row>): Promise<readonly Row[]> {
    return this.#turns.take(() => this.#session.run(script))
  }

  lend(): Lent<Tx> {
    const lent = this.#lending.lend()
    if (this.#phase !== 'open') lent.revoke()
    return lent
  }

  /** Commits. Keeps `results` with the marks. */
  mark(results: Results): Promise<ReadonlyMap<Key, MarkVerdict>> {
    return this.#mark(async () => this.#all(await this.#commit(results)))
  }

  /** Rolls back, and marks its only key with the failure. */
  markFailure(failure: Omit<MarkingFailure, 'isSentAgain'>): Promise<ReadonlyMap<Key, MarkVerdict>> {
    return this.#mark(() => this.#fail(failure))
  }

  #mark(begin: () => Promise<ReadonlyMap<Key, MarkVerdict>>): Promise<ReadonlyMap<Key, MarkVerdict>> {
    return this.#turns.take(async () => {
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

  /** Rolls back. Gives the attempts of `claims` back, or writes their backoff and cause; each only once. */
  release(
    claims: readonly TransactionClaim<Tx>[],
    { refund, delayMs = 0, cause }: ReleaseOptions,
  ): Promise<readonly ReleaseVerdict[]> {
    return this.#turns.take(async () => {
      if (this.#phase !== 'open' && this.#phase !== 'over') return claims.map(() => 'refused')
      const keys = claims.map(({ key }) => key)
      const verdicts = keys.map((key) => (this.#released.has(key) ? 'already-released' : 'released'))
      for (const key of keys) this.#released.add(key)
      const isBlameless = this.lossesInARow !== undefined || refund // mutant: mysql-attempts-not-kept
      const untold = keys.filter((key) => !this.#told.has(key))
      if (isBlameless) await this.#rollBack(untold)
      else if (delayMs > 0 || cause !== undefined) await this.#holdBack(untold, { delayMs, cause })
      else await this.#rollBack([])
      return verdicts
    })
  }

  /** Rolls back, and writes the records instead. Refused if another owner was quicker. */
  setAside(claims: readonly TransactionClaim<Tx>[], how: SettingAside): Promise<readonly SetAsideVerdict[]> {
    this.#place.losses.forget(this.#names())
    return this.#turns.take(async () => {
      const keys = claims.map(({ key }) => key)
      const verdicts = await this.#ledger.setAside(keys, how, (script) => this.#replace(script, 'over'))
      if (this.#givenBack.size > 0) await this.#rollBack([])
      return verdicts
    })
  }

  /** Ends the transaction without a mark and runs `script` on its connection, before anybody else gets that. */
  async #replace<Row>(script: Script<Row>, next: 'failing' | 'over'): Promise<readonly Row[]> {
    if (this.#phase !== 'open') return this.#place.sessions.committed(script)
    this.#lending.revoke()
    this.#phase = next
    return this.#session.replace(script)
  }

  async #fail(failure: Omit<MarkingFailure, 'isSentAgain'> | undefined): Promise<ReadonlyMap<Key, MarkVerdict>> {
    const [key, other] = this.keys
    if (failure === undefined || key === undefined || other !== undefined || this.#ledger.markFailure === undefined) {
      throw new StoreError('STORE_MISUSED', 'expected a failure of the only claim of an inbox transaction')
    }
    this.#failure = failure
    const how = { ...failure, isSentAgain: this.#phase === 'failing' }
    const verdict = await this.#ledger.markFailure(key, how, (script) => this.#replace(script, 'failing'))
    this.#phase = verdict === 'marked' || verdict === 'already-marked' ? 'marked' : 'over'
    return new Map([[key, verdict]])
  }

  async #commit(results: Results): Promise<'marked' | 'refused-busy'> {
    this.#lending.revoke()
    // Give the ORM one turn: within it, it asks for its client and sends queries that the handler did not await. They
    // have been refused by then, so they are noticed before COMMIT.
    await nextTurn()
    // mutant: pg-pending-query-committed
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
    this.#phase = isSent ? 'unknown' : 'over' // mutant: pg-lost-reply-taken-for-a-failure, mysql-lost-reply-taken-for-a-failure
    try {
      const end = await this.#session.commit(this.#last(results))
      if (end === 'rolled back') throw this.#refused('the COMMIT was answered ROLLBACK') // mutant: commit-tag-unchecked
      this.#phase = 'marked'
      this.#lending.marked()
      this.#place.losses.forget(this.#names())
      if (this.#outgoing.length > 0) this.#place.outgoing?.wake()
      return 'marked'
    } catch (error) {
      if (!isSent) await this.#refundLost()
      if (!this.#errors.isRefusal(error)) throw error
      this.#phase = 'over'
      const isTakenOver = this.#ledger.isTakenOver(error)
      if (isTakenOver) await this.#refundQuietly()
      else if (this.#errors.isConflict(error)) await this.#refundLost()
      if (isTakenOver) return 'refused-busy'
      throw this.#refused(this.#errors.explainRefusal(error), error) // mutant: refused-commit-taken-for-a-mark
    }
  }

  /** The mark, and what the handlers publish. */
  #last(results: Results): readonly Script[] {
    const marks = this.#ledger.mark(results, this.#givenBack)
    const { outgoing } = this.#place
    return outgoing === undefined || this.#outgoing.length === 0 ? marks : [...marks, outgoing.write(this.#outgoing)]
  }

  #refused(why: string, cause?: unknown): TransactionError {
    this.#phase = 'over'
    return new TransactionError('COMMIT_REFUSED', `no mark was committed: ${why}`, { cause })
  }

  async #resolve(): Promise<ReadonlyMap<Key, MarkVerdict>> {
    const verdicts = await this.#ledger.whatWasCommitted(this.#givenBack)
    const isMarked = [...verdicts.values()].includes('already-marked')
    this.#phase = isMarked ? 'marked' : 'over'
    if (isMarked) this.#lending.marked()
    else await this.#refundLost()
    return verdicts
  }

  /** Also refunds the claims that are given back. */
  async #rollBack(blameless: readonly Key[]): Promise<void> {
    const refunded = this.#givenBack.size === 0 ? blameless : this.#withGivenBack(blameless)
    if (this.#phase === 'open') {
      this.#lending.revoke()
      this.#phase = 'over'
      if (refunded.length === 0) return this.#session.rollback() // mutant: pg-release-commits, mysql-release-commits
      // Refund in this transaction, so that waiters for the keys find the attempts given back. If a handler has ended
      // the transaction, they are not given back.
      const released = await this.#session.release(this.#ledger.release(refunded))
      if (released === 'lost') await this.#refund(refunded)
    } else if (refunded.length > 0) await this.#refund(refunded)
    for (const key of refunded) this.#told.add(key)
  }

  #withGivenBack(blameless: readonly Key[]): readonly Key[] {
    const owed = [...this.#givenBack].filter((key) => !this.#told.has(key) && !blameless.includes(key))
    return [...blameless, ...owed]
  }

  /** Writes the backoff in this transaction, so that waiters for the keys find it. */
  async #holdBack(keys: readonly Key[], how: HoldingBack): Promise<void> {
    const told = this.#ledger.holdBack?.(keys, how)
    if (told === undefined || keys.length === 0) return this.#rollBack([])
    const wasOpen = this.#phase === 'open'
    this.#lending.revoke()
    this.#phase = 'over'
    const owed = this.#withGivenBack([])
    const refunds = owed.length === 0 ? [] : this.#ledger.release(owed)
    const released = wasOpen ? await this.#session.release([...refunds, ...told.inTransaction]) : 'lost'
    if (released !== 'released') {
      await this.#holdBackLate(keys, how)
      if (owed.length > 0) await this.#refund(owed)
    }
    for (const key of [...keys, ...owed]) this.#told.add(key)
  }

  /** For keys that this transaction no longer holds. Changes nothing if another claim has counted them since. */
  async #holdBackLate(keys: readonly Key[], how: HoldingBack): Promise<void> {
    try {
      await despiteEncoding(this.#errors, { cause: how.cause }, async ({ cause }) => {
        const told = this.#ledger.holdBack?.(keys, { ...how, cause })
        if (told !== undefined) await this.#place.sessions.briefly(told.afterwards)
      })
    } catch (error) {
      // Another owner is counting a key right now.
      if (!this.#errors.isLockTimeout(error)) throw error
    }
  }

  /** For keys that this transaction no longer holds. */
  async #refund(keys: readonly Key[]): Promise<void> {
    try {
      await this.#place.sessions.briefly(this.#ledger.refund(keys))
    } catch (error) {
      // Another owner has taken a key, and counts on its own.
      if (!this.#errors.isLockTimeout(error)) throw error
    }
  }

  async #refundLost(): Promise<void> {
    this.#hasLost = true
    if (this.lossesInARow !== undefined) await this.#refundQuietly()
    else if (this.#givenBack.size > 0) await this.#rollBack([]).catch(() => {})
  }

  /** The store failed, not the handler. If the refund fails too, the next call about the mark tries it again. */
  async #refundQuietly(): Promise<void> {
    this.#owesAttempts = true
    await this.#refundAll().catch(() => {})
  }

  async #refundAll(): Promise<void> {
    await this.#refund([...this.keys])
    this.#owesAttempts = false
  }

  /** The transaction was lost through no fault of a handler, as far as is known. */
  get #isLost(): boolean {
    return this.#hasLost || this.#lending.hasLost || this.#errors.isShutdown(this.#session.spoiledBy)
  }

  get #errors(): SqlErrors {
    return this.#place.sessions.errors
  }

  /** Scope and key, because the losses are shared by all scopes. */
  #names(): readonly string[] {
    return [...this.keys].map((key) => `${this.#place.scope} ${key}`)
  }

  #all(verdict: MarkVerdict): ReadonlyMap<Key, MarkVerdict> {
    return new Map([...this.keys].filter((key) => !this.#givenBack.has(key)).map((key) => [key, verdict]))
  }
}
