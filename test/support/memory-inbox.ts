import { TransactionError } from '../../src/errors.ts'
import { isFailure } from '../../src/core/result.ts'
import type { Key, MarkVerdict, ReleaseVerdict, RenewVerdict, Result, SetAsideVerdict } from '../../src/core/record.ts'
import type {
  Claim,
  ClaimAnswer,
  ClaimItem,
  ClaimRequest,
  LentTransaction,
  OpenTransaction,
  ReleaseOptions,
  Store,
} from '../../src/ports/store.ts'

interface InboxRow {
  readonly digest: string
  readonly outcome: 'done' | 'given-up' | 'parked'
  readonly reason: string
  readonly result?: Result | undefined
}

/** What outlives processes: rows, counted attempts and committed effects. */
export class InboxDatabase {
  readonly rows: Map<Key, InboxRow> = new Map()
  readonly attempts: Map<Key, number> = new Map()
  /** Whose call counted last: one that is sent again counts once. */
  readonly countedBy: Map<Key, string> = new Map()
  readonly effects: string[] = []
  /** Which transaction has inserted the row, and not ended. */
  readonly locks: Map<Key, InboxTransaction> = new Map()
}

export interface InboxTx {
  insert(effect: string): Promise<void>
  /** A query that never answers. */
  stall(): Promise<void>
}

/**
 * An inbox in memory, for the pipeline: effects are committed by the mark and forgotten by a release. Where a row is held
 * by another transaction it answers `busy` at once instead of waiting.
 */
export class MemoryInbox implements Store<InboxTx> {
  readonly strategy = 'inbox'
  readonly #database: InboxDatabase
  readonly #open = new Set<InboxTransaction>()

  constructor(database: InboxDatabase) {
    this.#database = database
  }

  /** Transactions of this process. */
  get openTransactions(): number {
    return this.#open.size
  }

  /** The process dies, and the server rolls back. */
  die(): void {
    for (const transaction of this.#open) transaction.end('rolled-back')
  }

  async open(): Promise<void> {}

  async claim({ items, token, scope, retentionMs, alone }: ClaimRequest): Promise<readonly ClaimAnswer<InboxTx>[]> {
    // Sent again: the connection of the first call is gone, and with it what it had opened.
    for (const earlier of this.#open) if (earlier.token === token) earlier.end('rolled-back')
    const { locks, attempts, countedBy } = this.#database
    const transaction = new InboxTransaction(this.#database, token, () => this.#open.delete(transaction))
    const answers = items.map((item): ClaimAnswer<InboxTx> => {
      const isCounted = countedBy.get(item.key) === token
      const counted = attempts.get(item.key) ?? 0
      const standing = this.#standing(item)
      if (standing !== undefined) return standing
      if (counted > (isCounted ? 1 : 0) && !alone) return { verdict: 'again-alone' }
      const attempt = isCounted ? counted : counted + 1
      attempts.set(item.key, attempt)
      countedBy.set(item.key, token)
      locks.set(item.key, transaction)
      const claim = { ...item, scope, token, fence: 0, attempt, retentionMs, transaction }
      return { verdict: 'claimed', fence: 0, attempt, claim }
    })
    transaction.claims = answers.filter((answer) => 'claim' in answer).length
    if (transaction.claims > 0) this.#open.add(transaction)
    return answers
  }

  #standing({ key, digest }: ClaimItem): ClaimAnswer<InboxTx> | undefined {
    const { rows, locks } = this.#database
    const row = rows.get(key)
    if (row !== undefined) {
      if (row.digest !== digest && row.digest !== '' && digest !== '') return { verdict: 'conflict' }
      return row.outcome === 'done'
        ? { verdict: 'done', result: row.result }
        : { verdict: row.outcome, reason: row.reason }
    }
    return locks.has(key) ? { verdict: 'busy', leaseLeftMs: 50 } : undefined
  }

  async renew(claims: readonly Claim<InboxTx>[]): Promise<readonly RenewVerdict[]> {
    return claims.map((claim) => (transactionOf(claim).state === 'open' ? 'renewed' : 'lost'))
  }

  async mark(
    claims: readonly Claim<InboxTx>[],
    results: readonly (Result | undefined)[] = [],
  ): Promise<readonly MarkVerdict[]> {
    const [transaction] = claims.map(transactionOf)
    if (transaction === undefined) return []
    if (transaction.isMarked) return claims.map(() => 'already-marked')
    if (transaction.state === 'rolled-back') return claims.map(() => 'refused-busy')
    if (transaction.hasFloated) throw new TransactionError('FLOATING_QUERY', 'a query was pending')
    const isAnswer = results.some((result) => result !== undefined && isFailure(result))
    if (isAnswer && transaction.claims !== 1) throw new TypeError('a failure among other claims (memory-inbox)')
    for (const [at, { key, digest }] of claims.entries()) {
      this.#database.rows.set(key, { digest, outcome: 'done', reason: '', result: results[at] })
    }
    transaction.end(isAnswer ? 'failed' : 'committed')
    return claims.map(() => 'marked')
  }

  async release(claims: readonly Claim<InboxTx>[], { refund }: ReleaseOptions): Promise<readonly ReleaseVerdict[]> {
    return claims.map((claim) => {
      const transaction = transactionOf(claim)
      if (transaction.isMarked) return 'refused'
      if (refund && !transaction.refunded.has(claim.key)) {
        transaction.refunded.add(claim.key)
        this.#database.attempts.set(claim.key, (this.#database.attempts.get(claim.key) ?? 1) - 1)
        this.#database.countedBy.delete(claim.key)
      }
      if (transaction.state === 'rolled-back') return 'already-released'
      transaction.end('rolled-back')
      return 'released'
    })
  }

  async setAside(
    claims: readonly Claim<InboxTx>[],
    as: 'given-up' | 'parked',
    reason: string,
  ): Promise<readonly SetAsideVerdict[]> {
    return claims.map((claim) => {
      const transaction = transactionOf(claim)
      const row = this.#database.rows.get(claim.key)
      if (transaction.isMarked || row?.outcome === 'done') return 'refused'
      transaction.end('rolled-back')
      this.#database.rows.set(claim.key, { digest: claim.digest, outcome: as, reason })
      return as
    })
  }
}

class InboxTransaction implements OpenTransaction<InboxTx> {
  /** `failed`: rolled back but for the mark of a remembered failure. */
  state: 'open' | 'committed' | 'failed' | 'rolled-back' = 'open'
  claims = 0
  readonly token: string
  readonly refunded: Set<Key> = new Set()
  hasFloated = false
  readonly #database: InboxDatabase
  readonly #effects: string[] = []
  readonly #onEnd: () => void

  constructor(database: InboxDatabase, token: string, onEnd: () => void) {
    this.#database = database
    this.token = token
    this.#onEnd = onEnd
  }

  get isMarked(): boolean {
    return this.state === 'committed' || this.state === 'failed'
  }

  end(state: 'committed' | 'failed' | 'rolled-back'): void {
    if (this.state !== 'open') return
    this.state = state
    if (state === 'committed') this.#database.effects.push(...this.#effects)
    for (const [key, holder] of this.#database.locks) if (holder === this) this.#database.locks.delete(key)
    this.#onEnd()
  }

  lend(): LentTransaction<InboxTx> {
    let isRevoked = false
    let pending = 0
    const query = async (answer: Promise<void>, apply: () => void): Promise<void> => {
      if (isRevoked || this.state !== 'open') throw new TransactionError('TRANSACTION_OVER', 'the transaction is over')
      pending++
      apply()
      await answer
      pending--
    }
    return {
      tx: {
        insert: (effect) => query(Promise.resolve(), () => void this.#effects.push(effect)),
        stall: () => query(new Promise(() => {}), () => {}),
      },
      revoke: () => {
        if (!isRevoked && pending > 0) this.hasFloated = true
        isRevoked = true
        return pending
      },
    }
  }
}

function transactionOf({ transaction }: Claim<InboxTx>): InboxTransaction {
  if (transaction instanceof InboxTransaction) return transaction
  throw new TypeError('a claim of another store (memory-inbox)')
}
