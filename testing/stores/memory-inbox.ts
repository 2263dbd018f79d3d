import { having, optionsOf, type Table } from '../../src/foundation/options.ts'
import { clockOption } from '../../src/foundation/system-options.ts'
import {
  viewOf,
  type DecideVerdict,
  type Decision,
  type Digest,
  type Key,
  type MarkVerdict,
  type MessageRecord,
  type ReleaseVerdict,
  type Result,
  type SetAsideVerdict,
} from '../../src/core/record.ts'
import { transition } from '../../src/core/transition.ts'
import { isFailure } from '../../src/core/result.ts'
import { StoreError } from '../../src/foundation/errors.ts'
import { memoryAdmin, pageIn, type MemoryRecords } from '../../src/memory/admin.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { ListQuery, RecordPage, StoreAdmin } from '../../src/ports/store-admin.ts'
import type {
  TransactionClaim,
  TransactionAnswer,
  ClaimItem,
  ClaimRequest,
  ReleaseOptions,
  InboxStore,
  SetAsideOptions,
} from '../../src/ports/store.ts'
import { InboxDatabase } from './inbox-database.ts'
import type { MemoryOutbox } from './memory-outbox.ts'
import { MEMORY_PROCESS, MemoryProcess, type MemoryProcessOptions } from './memory-process.ts'
import { MemoryTransaction, transactionOf, type MemoryTx } from './memory-transaction.ts'

export interface MemoryInboxOptions<Tx = MemoryTx, Effect = string> extends MemoryProcessOptions<Tx, Effect> {
  /**
   * Share it between the stores of several processes.
   * @defaultValue a new one
   */
  readonly database?: InboxDatabase<Effect>
  /**
   * With it handlers may `publish`. Share it as the database is shared.
   * @defaultValue none
   */
  readonly outbox?: MemoryOutbox
  /**
   * The clock that measures backoffs.
   * @defaultValue the system clock
   */
  readonly clock?: Pick<Clock, 'now'>
}

const MEMORY_INBOX: Table<MemoryInboxOptions, 'database' | 'outbox' | 'lendAs'> = {
  database: having('an InboxDatabase'),
  outbox: having('a MemoryOutbox', 'write'),
  clock: clockOption(),
  ...MEMORY_PROCESS,
}

/**
 * The reference inbox, in memory, for tests: the mark commits effects, and everything is lost on exit. One instance is
 * one process; `die()` ends it.
 */
export class MemoryInbox<Tx = MemoryTx, Effect = string> extends MemoryProcess<Tx, Effect> implements InboxStore<Tx> {
  readonly strategy = 'inbox'
  readonly name = 'memory-inbox'
  readonly database: InboxDatabase<Effect>
  readonly admin: StoreAdmin
  readonly outbox: MemoryOutbox | undefined
  readonly #clock: Pick<Clock, 'now'>

  /** @throws ConfigError `CONFIG_INVALID` for an unknown option */
  constructor(options: MemoryInboxOptions<Tx, Effect> = {}) {
    const given = optionsOf('new MemoryInbox', MEMORY_INBOX, options as never)
    const { clock, outbox } = given
    const database = (given.database as InboxDatabase<Effect> | undefined) ?? new InboxDatabase()
    super({ effects: database.effects, outbox, held: database.locks }, given)
    this.database = database
    this.outbox = outbox
    this.#clock = clock
    const records: MemoryRecords = {
      view: (key) => viewOf(this.record(key), clock.now()),
      list: (query, isOf) => this.list(query, isOf),
      decide: (key, decision) => this.decide(key, decision),
      purge: () => ({ removed: 0, more: false }),
      recordsEnd: false,
    }
    this.admin = memoryAdmin(records, clock, database.history)
  }

  async claim(request: ClaimRequest): Promise<readonly TransactionAnswer<Tx>[]> {
    const { scope, items } = request
    const { rows, history } = this.database
    history.used(scope, { items, records: rows, now: this.#clock.now(), retentionMs: undefined })
    const { locks } = this.database
    const transaction = this.begin(request.token, (parts) => new MemoryTransaction(parts))
    const answers = new Map<Key, TransactionAnswer<Tx>>()
    // In the same order for all, so that two batches cannot deadlock.
    for (const item of request.items.toSorted((a, b) => (a.key < b.key ? -1 : 1))) {
      // After a wait it checks again, and takes the key in the same turn: others woke up too.
      while (this.whenHeld === 'wait' && locks.has(item.key)) await locks.get(item.key)?.ended
      if (transaction.state !== 'open') throw new StoreError('STORE_UNREACHABLE', 'ended while a claim waited')
      answers.set(item.key, this.standing(item, request) ?? this.#grant(item, request, transaction))
    }
    const isEmpty = ![...answers.values()].some((answer) => 'claim' in answer)
    if (isEmpty) transaction.end('rolled-back')
    return request.items.flatMap(({ key }) => answers.get(key) ?? [])
  }

  /** The answer for a key that is not granted. */
  protected standing(
    { key, digest }: ClaimItem,
    { alone, token }: Pick<ClaimRequest, 'alone' | 'token'>,
  ): TransactionAnswer<Tx> | undefined {
    const { rows, attempts, countedBy, locks, tried } = this.database
    const row = rows.get(key)
    if (row !== undefined) {
      if (differ(row.digest, digest)) return { verdict: 'conflict' }
      const { outcome, reason, attempt, since, cause } = row
      return outcome === 'done'
        ? { verdict: 'done', result: row.result, since }
        : { verdict: outcome, reason, attempt, since, cause }
    }
    if (locks.has(key)) return { verdict: 'busy', leaseLeftMs: 50 }
    const before = tried.get(key)
    if (before !== undefined && differ(before.digest, digest)) return { verdict: 'conflict' }
    const leaseLeftMs = (before?.notBefore ?? 0) - this.#clock.now()
    if (leaseLeftMs > 0) return { verdict: 'busy', leaseLeftMs }
    const ofThisClaim = countedBy.get(key) === token ? 1 : 0
    const earlier = (attempts.get(key) ?? 0) - ofThisClaim
    return earlier > 0 && !alone ? { verdict: 'again-alone', attempts: earlier } : undefined
  }

  async mark(
    claims: readonly TransactionClaim<Tx>[],
    results: readonly (Result | undefined)[] = [],
  ): Promise<readonly MarkVerdict[]> {
    const [transaction] = claims.map((claim) => transactionOf<Tx, Effect>(claim))
    if (transaction === undefined) return []
    if (transaction.state === 'committed') return claims.map(() => 'already-marked')
    if (transaction.state === 'rolled-back') return claims.map(() => 'refused-busy')
    const expected = this.#heldBy(transaction) - transaction.givenBack.size
    if (claims.length < expected)
      throw new StoreError('STORE_MISUSED', `expected all ${expected} claims of a transaction, got ${claims.length}`)
    const hasFailure = results.some((result) => result !== undefined && isFailure(result))
    if (hasFailure && claims.length > 1) throw new StoreError('STORE_MISUSED', 'a failure is marked alone')
    if (hasFailure) transaction.rollBack()
    transaction.assertCommittable()
    const since = this.#clock.now()
    for (const [at, { key, digest }] of claims.entries()) {
      this.database.rows.set(key, { digest, outcome: 'done', reason: '', since, result: results[at] })
      this.database.known.delete(key)
      this.database.tried.delete(key)
    }
    this.#refundGivenBack(transaction)
    transaction.end('committed')
    return claims.map(() => 'marked')
  }

  async release(
    claims: readonly TransactionClaim<Tx>[],
    { refund, delayMs = 0, cause }: ReleaseOptions,
  ): Promise<readonly ReleaseVerdict[]> {
    const [transaction] = claims.map((claim) => transactionOf<Tx, Effect>(claim))
    if (transaction === undefined) return []
    if (transaction.state === 'committed') return claims.map(() => 'refused')
    const notBefore = delayMs > 0 ? this.#clock.now() + delayMs : undefined
    const { countedBy, tried } = this.database
    const { released } = transaction
    const verdicts = claims.map(({ key }) => (released.has(key) ? 'already-released' : 'released'))
    for (const claim of claims) {
      const { key, digest, token } = claim
      if (refund) this.#refund(claim)
      else if (!released.has(key) && countedBy.get(key) === token) tried.set(key, { digest, notBefore, cause })
      released.add(key)
    }
    this.#refundGivenBack(transaction)
    transaction.end('rolled-back')
    return verdicts
  }

  async setAside(
    claims: readonly TransactionClaim<Tx>[],
    as: 'given-up' | 'parked',
    { reason, refund = false, cause }: SetAsideOptions,
  ): Promise<readonly SetAsideVerdict[]> {
    const { rows, known, locks, tried } = this.database
    const since = this.#clock.now()
    const verdicts = claims.map((claim): SetAsideVerdict => {
      const row = rows.get(claim.key)
      if (row !== undefined) return row.outcome === 'done' ? 'refused' : row.outcome
      // Rolled back before: it may belong to another transaction by now.
      if (locks.has(claim.key) && locks.get(claim.key) !== transactionOf(claim)) return 'refused'
      const attempt = refund ? claim.attempt - 1 : claim.attempt
      rows.set(claim.key, { digest: claim.digest, outcome: as, reason, attempt, since, cause })
      known.delete(claim.key)
      tried.delete(claim.key)
      return as
    })
    for (const claim of claims) {
      const transaction = transactionOf<Tx, Effect>(claim)
      this.#refundGivenBack(transaction)
      transaction.end('rolled-back')
    }
    return verdicts
  }

  protected list(query: ListQuery, isOf: (key: Key) => boolean): RecordPage {
    const now = this.#clock.now()
    const own = [...this.database.rows.keys()].filter(isOf)
    return pageIn(
      own.map((key) => ({ key, ...viewOf(this.record(key), now) })),
      query,
    )
  }

  protected decide(key: Key, decision: Decision): DecideVerdict {
    const { rows, attempts, countedBy, known, locks, tried } = this.database
    // Held by an open transaction, which alone decides about it.
    if (locks.has(key)) return 'refused'
    const command = { command: 'decide', decision, retentionMs: 1 } as const
    const { next, verdict } = transition<'decide'>(this.record(key), command, this.#clock.now())
    if (verdict !== 'decided') return verdict
    attempts.delete(key)
    countedBy.delete(key)
    tried.delete(key)
    if (next.state === 'done') rows.set(key, { digest: next.digest, outcome: 'done', reason: '', since: next.since })
    else {
      rows.delete(key)
      known.add(key)
    }
    return verdict
  }

  protected record(key: Key): MessageRecord {
    const common = { fence: 0, owner: '', keepUntil: Number.POSITIVE_INFINITY }
    const row = this.database.rows.get(key)
    if (row !== undefined) return { ...row, ...common, state: row.outcome }
    const before = this.database.tried.get(key) ?? { digest: '' }
    const attempt = this.database.attempts.get(key) ?? 0
    return attempt === 0 ? { state: 'absent' } : { state: 'released', ...before, attempt, doubt: false, ...common }
  }

  #grant(
    item: ClaimItem,
    { scope, token, retentionMs }: ClaimRequest,
    transaction: MemoryTransaction<Tx, Effect>,
  ): TransactionAnswer<Tx> {
    const { attempts, countedBy, known, locks, tried } = this.database
    const counted = attempts.get(item.key) ?? 0
    const attempt = countedBy.get(item.key) === token ? counted : counted + 1
    attempts.set(item.key, attempt)
    countedBy.set(item.key, token)
    tried.set(item.key, { digest: item.digest })
    locks.set(item.key, transaction)
    const claim: TransactionClaim<Tx> = { ...item, scope, token, fence: 0, attempt, retentionMs, transaction }
    return { verdict: 'claimed', fence: 0, attempt, claim, ...(known.has(item.key) ? { isKnown: true } : {}) }
  }

  #heldBy(transaction: MemoryTransaction<Tx, Effect>): number {
    let held = 0
    for (const holder of this.database.locks.values()) if (holder === transaction) held++
    return held
  }

  #refundGivenBack(transaction: MemoryTransaction<Tx, Effect>): void {
    for (const claim of transaction.givenBack.values()) this.#refund(claim)
  }

  #refund({ key, token }: Pick<TransactionClaim<Tx>, 'key' | 'token'>): void {
    const { attempts, countedBy, tried } = this.database
    if (countedBy.get(key) !== token) return
    const left = (attempts.get(key) ?? 1) - 1
    countedBy.delete(key)
    attempts.set(key, left)
    if (left === 0) tried.delete(key)
  }
}

function differ(kept: Digest, claimed: Digest): boolean {
  return kept !== claimed && kept !== '' && claimed !== ''
}
