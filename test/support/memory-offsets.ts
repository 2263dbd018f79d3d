import { claimStream, nextAfter, refundStarts, type PositionRecord } from '../../src/core/position.ts'
import type {
  Key,
  MarkVerdict,
  OwnerToken,
  ReleaseVerdict,
  RenewVerdict,
  SetAsideVerdict,
} from '../../src/core/record.ts'
import { StoreError, TransactionError } from '../../src/errors.ts'
import type {
  Claim,
  ClaimAnswer,
  ClaimItem,
  ClaimRequest,
  LentTransaction,
  OpenTransaction,
  Positions,
  ReleaseOptions,
  Store,
} from '../../src/ports/store.ts'

interface Row extends PositionRecord {
  /** The claim that moved it or set it aside last. */
  readonly movedBy: OwnerToken
}

/** What outlives processes. A stream is held by the transaction that has claimed of it. */
export class OffsetsDatabase {
  rows: Map<string, Row> = new Map()
  effects: string[] = []
  readonly holders: Map<string, OffsetsTransaction> = new Map()

  /** Under which a stream is kept. */
  nameOf(scope: string, stream: string): string {
    return `${scope} ${stream}`
  }

  /** A database restored to this moment, by `restore`. */
  backup(): Pick<OffsetsDatabase, 'rows' | 'effects'> {
    return { rows: new Map(this.rows), effects: [...this.effects] }
  }

  /** Transactions that are open die with the old database. */
  restore({ rows, effects }: Pick<OffsetsDatabase, 'rows' | 'effects'>): void {
    for (const transaction of new Set(this.holders.values())) transaction.end('rolled-back')
    this.rows = new Map(rows)
    this.effects.splice(0, Number.POSITIVE_INFINITY, ...effects)
  }
}

export interface OffsetsTx {
  insert(effect: string): Promise<void>
  /** A query that is pending for a moment. */
  stall(): Promise<void>
  fail(): Promise<void>
}

/** The strategy `offsets` in memory: `claimStream` and a Map. Where another transaction holds a stream it is busy at once. */
export class MemoryOffsets implements Store<OffsetsTx> {
  readonly strategy = 'offsets'
  readonly database: OffsetsDatabase
  isDown = false
  readonly #open = new Set<OffsetsTransaction>()

  constructor(database: OffsetsDatabase) {
    this.database = database
  }

  readonly positions: Positions = {
    next: async (scope, streams) => {
      this.#answer()
      return new Map(
        streams.flatMap((stream) => {
          const row = this.database.rows.get(this.database.nameOf(scope, stream))
          return row === undefined ? [] : [[stream, row.next] as const]
        }),
      )
    },
    pass: async (scope, { stream, offset }) => {
      this.#answer()
      this.pass(this.database.nameOf(scope, stream), offset)
    },
  }

  /** The process dies, and the server rolls back. */
  die(): void {
    for (const transaction of this.#open) transaction.end('rolled-back')
  }

  async open(): Promise<void> {}

  async claim(request: ClaimRequest): Promise<readonly ClaimAnswer<OffsetsTx>[]> {
    this.#answer()
    const { items, token, scope, retentionMs } = request
    // Sent again: the connection of the first call is gone, and with it what it had opened.
    for (const earlier of this.#open) if (earlier.token === token) earlier.end('rolled-back')
    const transaction = new OffsetsTransaction(this.database, token, () => this.#open.delete(transaction))
    const answers = new Map<Key, ClaimAnswer<OffsetsTx>>()
    for (const [stream, ofStream] of this.#byStream(scope, items)) {
      if (this.database.holders.has(stream)) {
        for (const { key } of ofStream) answers.set(key, { verdict: 'busy', leaseLeftMs: 50 })
        continue
      }
      const record = this.database.rows.get(stream)
      const { verdicts, granted } = this.decide(record, ofStream, request)
      for (const [index, placed] of ofStream.entries()) {
        const { item, key } = placed
        const verdict = verdicts[index]
        if (verdict?.verdict === 'claimed') {
          const { attempt } = verdict
          transaction.claimed({ ...placed, stream }, granted?.next ?? 0n)
          const claim: Claim<OffsetsTx> = { ...item, scope, token, fence: 0, attempt, retentionMs, transaction }
          answers.set(key, { verdict: 'claimed', fence: 0, attempt, claim })
        } else if (verdict !== undefined) answers.set(key, verdict)
      }
      if (granted === undefined) continue
      const row = record ?? { next: granted.next, aside: undefined, movedBy: '' }
      this.database.rows.set(stream, { ...row, attempts: granted.attempts })
      this.database.holders.set(stream, transaction)
      this.#open.add(transaction)
    }
    return items.flatMap(({ key }) => answers.get(key) ?? [])
  }

  protected decide(...args: Parameters<typeof claimStream>): ReturnType<typeof claimStream> {
    return claimStream(...args)
  }

  async renew(claims: readonly Claim<OffsetsTx>[]): Promise<readonly RenewVerdict[]> {
    return claims.map((claim) => (transactionOf(claim).state === 'open' ? 'renewed' : 'lost'))
  }

  async mark(claims: readonly Claim<OffsetsTx>[]): Promise<readonly MarkVerdict[]> {
    this.#answer()
    const [transaction] = claims.map(transactionOf)
    if (transaction === undefined) return []
    if (transaction.state === 'committed') return claims.map(() => 'already-marked')
    if (transaction.state === 'rolled-back') return claims.map(() => 'refused-busy')
    if (transaction.pending > 0) throw new TransactionError('FLOATING_QUERY', 'a query was pending')
    if (transaction.hasFailed) throw new TransactionError('COMMIT_REFUSED', 'a query failed')
    const isMoved = [...transaction.streams].some(([stream, { next }]) => this.database.rows.get(stream)?.next !== next)
    if (isMoved) transaction.end('rolled-back')
    if (isMoved) return claims.map(() => 'refused-busy')
    for (const [stream, { offsets }] of transaction.streams) this.move(stream, nextAfter(offsets), transaction.token)
    transaction.end('committed')
    return claims.map(() => 'marked')
  }

  protected move(stream: string, next: bigint, movedBy: OwnerToken): void {
    const row = this.database.rows.get(stream)
    this.database.rows.set(stream, { attempts: row?.attempts, next, aside: undefined, movedBy })
  }

  protected pass(stream: string, offset: bigint): void {
    const row = this.database.rows.get(stream)
    if (row?.aside === undefined || row.next !== offset) return
    this.database.rows.set(stream, { ...row, next: offset + 1n, aside: undefined })
  }

  async release(claims: readonly Claim<OffsetsTx>[], { refund }: ReleaseOptions): Promise<readonly ReleaseVerdict[]> {
    this.#answer()
    return claims.map((claim) => {
      const transaction = transactionOf(claim)
      if (transaction.state === 'committed') return 'refused'
      if (refund) for (const stream of transaction.streams.keys()) this.#refund(stream, transaction.token)
      if (transaction.released.has(claim.key)) return 'already-released'
      transaction.released.add(claim.key)
      transaction.end('rolled-back')
      return 'released'
    })
  }

  async setAside(
    claims: readonly Claim<OffsetsTx>[],
    as: 'given-up' | 'parked',
    reason: string,
  ): Promise<readonly SetAsideVerdict[]> {
    this.#answer()
    return claims.map((claim) => {
      const transaction = transactionOf(claim)
      const { stream, offset } = transaction.positionOf(claim.key)
      const row = this.database.rows.get(stream)
      if (row?.aside !== undefined && row.next === offset && row.movedBy === transaction.token) return row.aside.as
      const held = transaction.streams.get(stream)
      const isLowest = held?.offsets[0] === offset && row?.next === held.next
      const holder = this.database.holders.get(stream)
      if (transaction.state === 'committed' || !isLowest || (holder !== undefined && holder !== transaction)) {
        return 'refused'
      }
      transaction.end('rolled-back')
      // What shared a transaction with it was started once all the same.
      const attempts = row?.attempts && { ...row.attempts, offset, count: 0, owner: '' }
      this.database.rows.set(stream, { next: offset, aside: { as, reason }, attempts, movedBy: transaction.token })
      return as
    })
  }

  #byStream(scope: string, items: readonly ClaimItem[]): ReadonlyMap<string, readonly Placed[]> {
    const streams = new Map<string, Placed[]>()
    for (const item of items) {
      const { key, position } = item
      if (position === undefined) throw new StoreError('STORE_MISUSED', 'expected a position, got none')
      const name = this.database.nameOf(scope, position.stream)
      const placed = { key, item, offset: position.offset, follows: position.follows }
      streams.set(name, [...(streams.get(name) ?? []), placed])
    }
    return streams
  }

  #refund(stream: string, token: OwnerToken): void {
    const row = this.database.rows.get(stream)
    if (row !== undefined) this.database.rows.set(stream, { ...row, attempts: refundStarts(row.attempts, token) })
  }

  #answer(): void {
    if (this.isDown) throw new StoreError('STORE_UNREACHABLE', 'down')
  }
}

export class OffsetsTransaction implements OpenTransaction<OffsetsTx> {
  state: 'open' | 'committed' | 'rolled-back' = 'open'
  pending = 0
  hasFailed = false
  readonly token: OwnerToken
  readonly released: Set<Key> = new Set()
  /** What was granted of each stream, and where it stood. */
  readonly streams: Map<string, { readonly next: bigint; readonly offsets: bigint[] }> = new Map()
  readonly #positions = new Map<Key, Place>()
  readonly #database: OffsetsDatabase
  readonly #effects: string[] = []
  readonly #onEnd: () => void

  constructor(database: OffsetsDatabase, token: OwnerToken, onEnd: () => void) {
    this.#database = database
    this.token = token
    this.#onEnd = onEnd
  }

  claimed({ key, stream, offset }: Place & { readonly key: Key }, next: bigint): void {
    this.#positions.set(key, { stream, offset })
    const held = this.streams.get(stream)
    if (held === undefined) this.streams.set(stream, { next, offsets: [offset] })
    else held.offsets.push(offset)
  }

  positionOf(key: Key): Place {
    const position = this.#positions.get(key)
    if (position === undefined) throw new TypeError('a claim that was not granted (memory-offsets)')
    return position
  }

  end(state: 'committed' | 'rolled-back'): void {
    if (this.state !== 'open') return
    this.state = state
    if (state === 'committed') this.#database.effects.push(...this.#effects)
    for (const [stream, holder] of this.#database.holders) {
      if (holder === this) this.#database.holders.delete(stream)
    }
    this.#onEnd()
  }

  lend(): LentTransaction<OffsetsTx> {
    let isRevoked = false
    let pending = 0
    const query = async (answer: Promise<unknown>, apply: () => void): Promise<void> => {
      if (isRevoked || this.state !== 'open') throw new TransactionError('TRANSACTION_OVER', 'the transaction is over')
      pending++
      this.pending++
      await answer
      pending--
      this.pending--
      apply()
    }
    return {
      tx: {
        insert: (effect) => query(Promise.resolve(), () => void this.#effects.push(effect)),
        stall: () => query(new Promise((resolve) => void setTimeout(resolve, 100)), () => {}),
        fail: () =>
          query(Promise.resolve(), () => {
            this.hasFailed = true
            throw new Error('the query failed')
          }),
      },
      revoke: () => {
        isRevoked = true
        return pending
      },
    }
  }
}

interface Place {
  readonly stream: string
  readonly offset: bigint
}

interface Placed {
  readonly key: Key
  readonly item: ClaimItem
  readonly offset: bigint
  readonly follows: bigint | undefined
}

export function transactionOf({ transaction }: Claim<OffsetsTx>): OffsetsTransaction {
  if (transaction instanceof OffsetsTransaction) return transaction
  throw new TypeError('a claim of another store (memory-offsets)')
}
