import type { Key, OwnerToken } from '../../src/core/record.ts'
import { TransactionError } from '../../src/foundation/errors.ts'
import type { Outgoing } from '../../src/ports/outbox.ts'
import type { Claim, LentTransaction, OpenTransaction, TransactionClaim } from '../../src/ports/store.ts'

/** The `tx` of handlers, unless `lendAs` creates another one. */
export interface MemoryTx<Effect = string> {
  /** Committed with the mark, and in no other way. */
  readonly insert: (effect: Effect) => Promise<void>
  /** A query that is pending until the transaction ends. */
  readonly stall: () => Promise<void>
  /** A query that fails in the database: earlier writes can no longer be committed. */
  readonly fail: () => Promise<void>
}

/** Creates the `tx` of handlers from the transaction in memory. */
export type LendAs<Tx, Effect> = (memory: MemoryTx<Effect>) => Tx

export interface TransactionParts<Tx, Effect> {
  /** The token of the claim that opened it. */
  readonly token: OwnerToken
  readonly lendAs: LendAs<Tx, Effect>
  /** Called once. Waiters for the end go on after it. */
  readonly onEnd: (state: 'committed' | 'rolled-back') => void
}

/** Effects that nobody sees before the commit. It has no timers: waiters wait for its end. */
export class MemoryTransaction<Tx, Effect> implements OpenTransaction<Tx> {
  state: 'open' | 'committed' | 'rolled-back' = 'open'
  effects: Effect[] = []
  outgoing: Outgoing[] = []
  /** Queries without an answer. */
  pending = 0
  hasFailed = false
  readonly released: Set<Key> = new Set()
  /** Claims that were given back, by key. */
  readonly givenBack: Map<Key, Claim> = new Map()
  readonly token: OwnerToken
  readonly ended: Promise<void>
  #hasFloated = false
  readonly #lendAs: LendAs<Tx, Effect>
  readonly #onEnd: (state: 'committed' | 'rolled-back') => void
  #wake: (() => void) | undefined

  constructor({ token, lendAs, onEnd }: TransactionParts<Tx, Effect>) {
    this.token = token
    this.#lendAs = lendAs
    this.#onEnd = onEnd
    this.ended = new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  giveBack(claims: readonly Claim[]): void {
    for (const claim of claims) this.givenBack.set(claim.key, claim)
  }

  publish(messages: readonly Outgoing[]): void {
    this.outgoing.push(...messages)
  }

  end(state: 'committed' | 'rolled-back'): void {
    if (this.state !== 'open') return
    this.state = state
    this.#onEnd(state)
    this.#wake?.()
  }

  /** Undoes its writes; it stays open. */
  rollBack(): void {
    this.effects = []
    this.outgoing = []
    this.pending = 0
    this.hasFailed = false
    this.#hasFloated = false
  }

  /** Throws if a COMMIT would be refused. */
  assertCommittable(): void {
    if (this.pending > 0 || this.#hasFloated) throw new TransactionError('FLOATING_QUERY', 'a query was pending')
    if (this.hasFailed) throw new TransactionError('COMMIT_REFUSED', 'a query failed')
  }

  lend(): LentTransaction<Tx> {
    let isRevoked = false
    let pending = 0
    const query = async (answer: Promise<void>, apply: () => void): Promise<void> => {
      if (isRevoked || this.state !== 'open') throw new TransactionError('TRANSACTION_OVER', 'the transaction is over')
      pending++
      this.pending++
      await answer
      pending--
      this.pending--
      apply()
    }
    const memory: MemoryTx<Effect> = {
      insert: (effect) => query(Promise.resolve(), () => void this.effects.push(effect)),
      stall: () => query(this.ended, () => {}),
      fail: () =>
        query(Promise.resolve(), () => {
          this.hasFailed = true
          throw new Error('the query failed')
        }),
    }
    return {
      tx: this.#lendAs(memory),
      revoke: () => {
        if (!isRevoked && pending > 0) this.#hasFloated = true
        isRevoked = true
        return pending
      },
    }
  }
}

/** The transaction that a store in memory has opened for a claim. */
export function transactionOf<Tx, Effect = string>({
  transaction,
}: TransactionClaim<Tx>): MemoryTransaction<Tx, Effect> {
  if (transaction instanceof MemoryTransaction) return transaction as MemoryTransaction<Tx, Effect>
  throw new TypeError('a claim of another store (memory-transaction)')
}
