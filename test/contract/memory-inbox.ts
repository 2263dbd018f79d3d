import type { InboxHarness } from './harness.ts'
import { StoreError, TransactionError } from '../../src/errors.ts'
import {
  transition,
  viewOf,
  type DecideVerdict,
  type Decision,
  type Key,
  type MarkVerdict,
  type MessageRecord,
  type ReleaseVerdict,
  type RenewVerdict,
  type Result,
  type SetAsideVerdict,
} from '../../src/core/record.ts'
import { isFailure } from '../../src/core/result.ts'
import type { ListQuery, RecordPage, StoreAdmin } from '../../src/ports/store-admin.ts'
import type {
  Claim,
  ClaimAnswer,
  ClaimItem,
  ClaimRequest,
  LentTransaction,
  ReleaseOptions,
  Store,
} from '../../src/ports/store.ts'

export function memoryInboxHarness(Inbox: typeof MemoryInbox = MemoryInbox): InboxHarness<MemoryTx> {
  const database = new MemoryDatabase()
  return {
    store: new Inbox(database),
    secondStore: async () => new Inbox(database),
    write: (tx, effect) => tx.insert(effect),
    stall: (tx) => tx.stall(),
    fail: (tx) => tx.fail(),
    committed: async (effect) => database.effects.filter((one) => one === effect).length,
    close: async () => {},
  }
}

/** A database with rows, attempts and effects, and with a lock on each row that an open transaction inserted. */
export class MemoryDatabase {
  readonly rows: Map<Key, Row> = new Map()
  readonly attempts: Map<Key, number> = new Map()
  /** What a person has let run, until it is marked or set aside. */
  readonly known: Set<Key> = new Set()
  readonly effects: string[] = []
  readonly #locks = new Map<Key, { readonly ended: Promise<void>; readonly end: () => void }>()

  isLocked(key: Key): boolean {
    return this.#locks.has(key)
  }

  get isAnyLocked(): boolean {
    return this.#locks.size > 0
  }

  /** Waits until no other transaction holds the key. */
  async lock(key: Key): Promise<void> {
    for (let held = this.#locks.get(key); held !== undefined; held = this.#locks.get(key)) await held.ended
    let end: (() => void) | undefined
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    this.#locks.set(key, { ended, end: () => end?.() })
  }

  unlock(key: Key): void {
    const held = this.#locks.get(key)
    this.#locks.delete(key)
    held?.end()
  }
}

interface Row {
  readonly digest: string
  readonly outcome: 'done' | 'given-up' | 'parked'
  readonly reason: string
  readonly result?: Result | undefined
}

export interface MemoryTx {
  insert(effect: string): Promise<void>
  stall(): Promise<void>
  fail(): Promise<void>
}

/** The smallest inbox that keeps the laws: it shows that they can be kept, and what breaks them shows that they bite. */
export class MemoryInbox implements Store<MemoryTx> {
  readonly strategy = 'inbox'
  readonly database: MemoryDatabase
  readonly admin: StoreAdmin = {
    peek: async (_scope, keys) => keys.map((key) => viewOf(this.record(key), 0)),
    list: async (_scope, query) => this.list(query),
    resolve: async (_scope, keys, { as }) => keys.map((key) => this.decide(key, as)),
    reopen: async (_scope, keys) => keys.map((key) => this.decide(key, 'reopen')),
    forget: async (_scope, keys) => keys.map((key) => this.decide(key, 'forget')),
    purge: async () => ({ removed: 0, more: false }),
  }

  constructor(database: MemoryDatabase) {
    this.database = database
  }

  async open(): Promise<void> {}

  async claim({ items, token, scope, retentionMs, alone }: ClaimRequest): Promise<readonly ClaimAnswer<MemoryTx>[]> {
    const transaction = new MemoryTransaction(this.database)
    const answers = new Map<Key, ClaimAnswer<MemoryTx>>()
    // In one order for all, so that no two batches wait for each other.
    for (const item of items.toSorted((a, b) => (a.key < b.key ? -1 : 1))) {
      await this.database.lock(item.key)
      const standing = this.standing(item, alone)
      if (standing === undefined) {
        const attempt = (this.database.attempts.get(item.key) ?? 0) + 1
        this.database.attempts.set(item.key, attempt)
        transaction.keys.push(item.key)
        const claim = { ...item, scope, token, fence: attempt, attempt, retentionMs, transaction }
        const known = this.database.known.has(item.key) ? { isKnown: true as const } : {}
        answers.set(item.key, { verdict: 'claimed', fence: attempt, attempt, claim, ...known })
      } else {
        this.database.unlock(item.key)
        answers.set(item.key, standing)
      }
    }
    return items.flatMap(({ key }) => answers.get(key) ?? [])
  }

  protected list({ state, limit, after }: ListQuery): RecordPage {
    const all = [...this.database.rows.keys()].toSorted().map((key) => ({ key, ...viewOf(this.record(key), 0) }))
    const rest = all.filter((record) => record.state === state && record.key > (after ?? ''))
    const records = rest.slice(0, limit)
    return { records, next: rest.length > limit ? records.at(-1)?.key : undefined }
  }

  protected decide(key: Key, decision: Decision): DecideVerdict {
    // Held by an open transaction: what becomes of it is decided by nobody else.
    if (this.database.isLocked(key)) return 'refused'
    const command = { command: 'decide', decision, retentionMs: 1 } as const
    const { next, verdict } = transition<'decide'>(this.record(key), command, 0)
    if (verdict !== 'decided') return verdict
    this.database.attempts.delete(key)
    if (next.state === 'done') this.database.rows.set(key, { digest: next.digest, outcome: 'done', reason: '' })
    else {
      this.database.rows.delete(key)
      this.database.known.add(key)
    }
    return verdict
  }

  protected record(key: Key): MessageRecord {
    const common = { fence: 0, owner: '', keepUntil: Number.POSITIVE_INFINITY }
    const row = this.database.rows.get(key)
    if (row !== undefined) return { ...row, ...common, state: row.outcome }
    const attempt = this.database.attempts.get(key) ?? 0
    return attempt === 0 ? { state: 'absent' } : { state: 'released', digest: '', attempt, doubt: false, ...common }
  }

  /** What a key is told that is not granted. */
  protected standing({ key, digest }: ClaimItem, alone: boolean): ClaimAnswer<MemoryTx> | undefined {
    const row = this.database.rows.get(key)
    if (row === undefined)
      return alone || (this.database.attempts.get(key) ?? 0) === 0 ? undefined : { verdict: 'again-alone' }
    if (row.digest !== digest && row.digest !== '' && digest !== '') return { verdict: 'conflict' }
    return row.outcome === 'done'
      ? { verdict: 'done', result: row.result }
      : { verdict: row.outcome, reason: row.reason }
  }

  async renew(claims: readonly Claim<MemoryTx>[]): Promise<readonly RenewVerdict[]> {
    return claims.map((claim) => (transactionOf(claim).state === 'open' ? 'renewed' : 'lost'))
  }

  async mark(
    claims: readonly Claim<MemoryTx>[],
    results: readonly (Result | undefined)[] = [],
  ): Promise<readonly MarkVerdict[]> {
    const [transaction] = claims.map(transactionOf)
    if (transaction === undefined) return []
    if (transaction.state === 'committed') return claims.map(() => 'already-marked')
    if (transaction.state === 'rolled-back') return claims.map(() => 'refused-busy')
    const hasFailure = results.some((result) => result !== undefined && isFailure(result))
    if (hasFailure && claims.length > 1) throw new StoreError('STORE_MISUSED', 'a failure is marked alone')
    if (hasFailure) transaction.rollBack()
    if (transaction.pending > 0)
      throw new TransactionError('FLOATING_QUERY', `${transaction.pending} queries are pending`)
    if (transaction.hasFailed) throw new TransactionError('COMMIT_REFUSED', 'a query failed')
    for (const [at, { key, digest }] of claims.entries()) {
      this.database.rows.set(key, { digest, outcome: 'done', reason: '', result: results[at] })
      this.database.known.delete(key)
    }
    transaction.end('committed')
    return claims.map(() => 'marked')
  }

  async release(claims: readonly Claim<MemoryTx>[], { refund }: ReleaseOptions): Promise<readonly ReleaseVerdict[]> {
    const [transaction] = claims.map(transactionOf)
    if (transaction === undefined) return []
    if (transaction.state === 'rolled-back') return claims.map(() => 'already-released')
    if (transaction.state === 'committed') return claims.map(() => 'refused')
    if (refund) for (const { key, attempt } of claims) this.database.attempts.set(key, attempt - 1)
    transaction.end('rolled-back')
    return claims.map(() => 'released')
  }

  async setAside(
    claims: readonly Claim<MemoryTx>[],
    as: 'given-up' | 'parked',
    reason: string,
  ): Promise<readonly SetAsideVerdict[]> {
    for (const claim of claims) {
      if (transactionOf(claim).state === 'committed') return claims.map(() => 'refused')
      this.database.rows.set(claim.key, { digest: claim.digest, outcome: as, reason })
      this.database.known.delete(claim.key)
    }
    for (const claim of claims) transactionOf(claim).end('rolled-back')
    return claims.map(() => as)
  }
}

export function transactionOf(claim: Claim<MemoryTx>): MemoryTransaction {
  if (claim.transaction instanceof MemoryTransaction) return claim.transaction
  throw new TypeError('a claim of another store (memory-inbox)')
}

export class MemoryTransaction {
  state: 'open' | 'committed' | 'rolled-back' = 'open'
  pending = 0
  hasFailed = false
  readonly keys: Key[] = []
  effects: string[] = []
  readonly #database: MemoryDatabase

  constructor(database: MemoryDatabase) {
    this.#database = database
  }

  end(state: 'committed' | 'rolled-back'): void {
    if (this.state !== 'open') return
    this.state = state
    if (state === 'committed') this.#database.effects.push(...this.effects)
    for (const key of this.keys) this.#database.unlock(key)
  }

  /** What was written in it is undone, and it stays open. */
  rollBack(): void {
    this.effects = []
    this.hasFailed = false
    this.pending = 0
  }

  lend(): LentTransaction<MemoryTx> {
    let isRevoked = false
    let pending = 0
    const query = async (run: () => void, pendingMs: number): Promise<void> => {
      if (isRevoked || this.state !== 'open') throw new TransactionError('TRANSACTION_OVER', 'the transaction is over')
      pending++
      this.pending++
      await new Promise((resolve) => void setTimeout(resolve, pendingMs))
      pending--
      this.pending--
      run()
    }
    return {
      tx: {
        insert: (effect) => query(() => void this.effects.push(effect), 0),
        stall: () => query(() => {}, 100),
        fail: () =>
          query(() => {
            this.hasFailed = true
            throw new Error('the query failed')
          }, 0),
      },
      revoke: () => {
        isRevoked = true
        return pending
      },
    }
  }
}
