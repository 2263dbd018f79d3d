import { having, optionsOf, type Table } from '../../src/foundation/options.ts'
import { claimStream, refundStarts, shortenStarts } from '../../src/core/position.ts'
import type { Key, MarkVerdict, OwnerToken, Reason, ReleaseVerdict, SetAsideVerdict } from '../../src/core/record.ts'
import type { EpochMs } from '../../src/core/units.ts'
import { StoreError } from '../../src/foundation/errors.ts'
import type {
  TransactionClaim,
  TransactionAnswer,
  ClaimItem,
  ClaimRequest,
  HoldVerdict,
  Positions,
  ReleaseOptions,
  OffsetsStore,
  SetAsideOptions,
} from '../../src/ports/store.ts'
import { MEMORY_PROCESS, MemoryProcess, type MemoryProcessOptions } from './memory-process.ts'
import type { MemoryTx } from './memory-transaction.ts'
import { OffsetsDatabase } from './offsets-database.ts'
import { OffsetsTransaction, transactionOf } from './offsets-transaction.ts'

export interface MemoryOffsetsOptions<Tx = MemoryTx, Effect = string> extends MemoryProcessOptions<Tx, Effect> {
  /**
   * Share it between the stores of several processes.
   * @defaultValue a new one
   */
  readonly database?: OffsetsDatabase<Effect>
}

const MEMORY_OFFSETS: Table<MemoryOffsetsOptions, 'database' | 'lendAs'> = {
  database: having('an OffsetsDatabase'),
  ...MEMORY_PROCESS,
}

/**
 * The strategy `offsets` in memory, for tests: `claimStream` and a Map. One instance is one process; `die()` ends it.
 */
export class MemoryOffsets<Tx = MemoryTx, Effect = string>
  extends MemoryProcess<Tx, Effect>
  implements OffsetsStore<Tx>
{
  readonly strategy = 'offsets'
  readonly name = 'memory-offsets'
  readonly database: OffsetsDatabase<Effect>
  readonly positions: Positions = {
    next: async (scope, streams) =>
      new Map(
        streams.flatMap((stream) => {
          const row = this.database.rows.get(this.database.nameOf(scope, stream))
          return row === undefined
            ? []
            : [[stream, { next: row.next, timestamp: row.timestamp, held: row.held }] as const]
        }),
      ),
    pass: async (scope, { stream, offset, timestamp }) =>
      this.pass(this.database.nameOf(scope, stream), offset, timestamp),
    hold: async (scope, { stream, next }, why) => this.#setHeld(this.database.nameOf(scope, stream), next, why),
    prove: async (scope, { stream, next }) => this.#setHeld(this.database.nameOf(scope, stream), next, undefined),
    list: async (scope) =>
      [...this.database.rows].flatMap(([name, { next, timestamp, held }]) =>
        name.startsWith(this.database.nameOf(scope, ''))
          ? [{ stream: name.slice(this.database.nameOf(scope, '').length), next, timestamp, held }]
          : [],
      ),
    release: async (scope, stream, { from }) => this.#release(this.database.nameOf(scope, stream), from),
  }

  /** @throws ConfigError `CONFIG_INVALID` for an unknown option */
  constructor(options: MemoryOffsetsOptions<Tx, Effect> = {}) {
    const given = optionsOf('new MemoryOffsets', MEMORY_OFFSETS, options as never)
    const database = (given.database as OffsetsDatabase<Effect> | undefined) ?? new OffsetsDatabase()
    super({ effects: database.effects, held: database.holders }, given)
    this.database = database
  }

  async claim(request: ClaimRequest): Promise<readonly TransactionAnswer<Tx>[]> {
    const streams = this.#byStream(request)
    const { holders } = this.database
    const transaction = this.begin(request.token, (parts) => new OffsetsTransaction(parts))
    const answers = new Map<Key, TransactionAnswer<Tx>>()
    // In the same order for all, so that two claims cannot deadlock.
    for (const [stream, ofStream] of streams.toSorted(([a], [b]) => (a < b ? -1 : 1))) {
      // After a wait it checks again, and takes the stream in the same turn: others woke up too.
      while (this.whenHeld === 'wait' && holders.has(stream)) await holders.get(stream)?.ended
      if (transaction.state !== 'open') throw new StoreError('STORE_UNREACHABLE', 'ended while a claim waited')
      for (const [key, answer] of this.#claimStream(stream, ofStream, request, transaction)) answers.set(key, answer)
    }
    if (transaction.streams.size === 0) transaction.end('rolled-back')
    return request.items.flatMap(({ key }) => answers.get(key) ?? [])
  }

  protected decide(...args: Parameters<typeof claimStream>): ReturnType<typeof claimStream> {
    return claimStream(...args)
  }

  async mark(claims: readonly TransactionClaim<Tx>[]): Promise<readonly MarkVerdict[]> {
    const [transaction] = claims.map((claim) => transactionOf<Tx, Effect>(claim))
    if (transaction === undefined) return []
    if (transaction.state === 'committed') return claims.map(() => 'already-marked')
    if (transaction.state === 'rolled-back') return claims.map(() => 'refused-busy')
    transaction.assertCommittable()
    const isMoved = [...transaction.streams].some(([stream, { next }]) => {
      const row = this.database.rows.get(stream)
      return row?.next !== next || row.held !== undefined
    })
    if (isMoved) transaction.end('rolled-back')
    if (isMoved) return claims.map(() => 'refused-busy')
    for (const stream of transaction.streams.keys()) {
      const last = transaction.lastBegun(stream, transaction.givenBack)
      if (last !== undefined) this.move(stream, last.offset + 1n, transaction.token, last.timestamp)
    }
    this.#giveBack(transaction, transaction.givenBack)
    transaction.end('committed')
    return claims.map(() => 'marked')
  }

  protected move(stream: string, next: bigint, movedBy: OwnerToken, timestamp?: EpochMs): void {
    const row = this.database.rows.get(stream)
    this.database.rows.set(stream, { attempts: row?.attempts, next, timestamp, aside: undefined, movedBy })
  }

  protected pass(stream: string, offset: bigint, timestamp?: EpochMs): void {
    const row = this.database.rows.get(stream)
    if (row?.aside === undefined || row.next !== offset) return
    this.database.rows.set(stream, { ...row, next: offset + 1n, timestamp, aside: undefined })
  }

  #setHeld(stream: string, next: bigint, held: Reason | undefined): void {
    const row = this.database.rows.get(stream)
    if (row === undefined || row.next !== next || (held !== undefined && row.held !== undefined)) return
    this.database.rows.set(stream, { ...row, held })
  }

  #release(stream: string, from: bigint | undefined): HoldVerdict {
    const row = this.database.rows.get(stream)
    if (row === undefined) return 'no-position'
    if (row.held === undefined) return 'not-held'
    const kept = { ...row, held: undefined, timestamp: undefined }
    const moved = from !== undefined && { next: from, aside: undefined, attempts: undefined }
    this.database.rows.set(stream, { ...kept, ...moved })
    return 'released'
  }

  async release(
    claims: readonly TransactionClaim<Tx>[],
    { refund }: ReleaseOptions,
  ): Promise<readonly ReleaseVerdict[]> {
    const keys = new Set(claims.map(({ key }) => key))
    return claims.map((claim) => {
      const transaction = transactionOf<Tx, Effect>(claim)
      if (transaction.state === 'committed') return 'refused'
      const { givenBack } = transaction
      this.#giveBack(transaction, refund ? new Set([...keys, ...givenBack.keys()]) : givenBack)
      if (transaction.released.has(claim.key)) return 'already-released'
      transaction.released.add(claim.key)
      transaction.end('rolled-back')
      return 'released'
    })
  }

  async setAside(
    claims: readonly TransactionClaim<Tx>[],
    as: 'given-up' | 'parked',
    { reason }: SetAsideOptions,
  ): Promise<readonly SetAsideVerdict[]> {
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
      // The other messages of its transaction were started once all the same.
      const attempts = row?.attempts && { ...row.attempts, offset, count: 0, owner: '' }
      const timestamp = row?.next === offset ? row.timestamp : undefined
      const aside = { as, reason }
      this.database.rows.set(stream, { next: offset, timestamp, aside, attempts, movedBy: transaction.token })
      return as
    })
  }

  #claimStream(
    stream: string,
    items: readonly Placed[],
    request: ClaimRequest,
    transaction: OffsetsTransaction<Tx, Effect>,
  ): readonly (readonly [Key, TransactionAnswer<Tx>])[] {
    const { rows, holders } = this.database
    if (holders.has(stream)) return items.map(({ item }) => [item.key, { verdict: 'busy', leaseLeftMs: 50 }])
    const { scope, token, retentionMs } = request
    const record = rows.get(stream)
    const { verdicts, granted } = this.decide(record, items, request)
    if (granted !== undefined) {
      const row = record ?? { next: granted.next, aside: undefined, movedBy: '' }
      rows.set(stream, { ...row, attempts: granted.attempts })
      holders.set(stream, transaction)
    }
    return items.flatMap(({ item, offset }, index): readonly (readonly [Key, TransactionAnswer<Tx>])[] => {
      const verdict = verdicts[index]
      if (verdict === undefined) return []
      if (verdict.verdict !== 'claimed') return [[item.key, verdict]]
      const { attempt } = verdict
      const timestamp = item.position?.timestamp
      transaction.claimed({ key: item.key, stream, offset, timestamp }, granted?.next ?? 0n)
      const claim: TransactionClaim<Tx> = { ...item, scope, token, fence: 0, attempt, retentionMs, transaction }
      return [[item.key, { verdict: 'claimed', fence: 0, attempt, claim }]]
    })
  }

  #byStream({ scope, items }: ClaimRequest): readonly (readonly [string, readonly Placed[]])[] {
    const streams = new Map<string, Placed[]>()
    for (const item of items) {
      const { position } = item
      if (position === undefined) throw new StoreError('STORE_MISUSED', 'expected a position, got none')
      const name = this.database.nameOf(scope, position.stream)
      const placed = { item, offset: position.offset, follows: position.follows }
      const ofStream = streams.get(name)
      if (ofStream === undefined) streams.set(name, [placed])
      else ofStream.push(placed)
    }
    return [...streams]
  }

  /** Refunds a whole stream, or the end of one. */
  #giveBack(transaction: OffsetsTransaction<Tx, Effect>, keys: { has(key: Key): boolean }): void {
    const { token, streams } = transaction
    for (const [stream, { offsets }] of streams) {
      const row = this.database.rows.get(stream)
      const until = transaction.lastBegun(stream, keys)?.offset
      if (row === undefined || until === offsets.at(-1)) continue
      const attempts =
        until === undefined ? refundStarts(row.attempts, token) : shortenStarts(row.attempts, token, until)
      this.database.rows.set(stream, { ...row, attempts })
    }
  }
}

interface Placed {
  readonly item: ClaimItem
  readonly offset: bigint
  readonly follows: bigint | undefined
}
