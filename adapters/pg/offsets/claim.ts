import {
  claimStream,
  StoreError,
  type TransactionClaim,
  type TransactionAnswer,
  type ClaimItem,
  type ClaimRequest,
  type DurationMs,
  type Key,
  type PositionRecord,
  type StreamClaim,
  type StreamItem,
} from '../../../src/internal.ts'
import { ClaimTransaction } from '../../sql/claim-transaction.ts'
import { despiteConflicts } from '../../sql/despite-conflicts.ts'
import { OffsetsLedger, type GrantedStream } from './ledger.ts'
import type { PgTransaction } from '../tx/pg-transaction.ts'
import type { PgPlace } from '../database.ts'
import type { PgSession } from '../sessions/session.ts'
import { isLockTimeout, isConflictOfTransactions } from '../sql-errors.ts'
import { TORN } from '../inbox/statements/records.ts'
import { countStarts, refundStarts } from './statements/attempts.ts'
import { forgetBegun, removeBegun, holdForHandlers, holdStreams, type HeldRow } from './statements/streams.ts'

type Answer = TransactionAnswer<PgTransaction>

/** A message of a stream with its claim item. */
interface PlacedItem extends StreamItem {
  readonly item: ClaimItem
  readonly timestamp: number | undefined
}

/**
 * Opens a transaction that holds the streams of the granted items: nobody else is granted anything of them until it
 * ends. If nothing is granted, the transaction ends here.
 */
export async function claimOfOffsets(
  place: PgPlace,
  request: ClaimRequest,
  lockTimeoutMs: DurationMs,
): Promise<readonly Answer[]> {
  const streams = byStream(request.items)
  const answers = await despiteConflicts(() => claimOnce(place, request, streams), isConflictOfTransactions).catch(
    (error: unknown) => {
      if (!isLockTimeout(error)) throw error
      return new Map<Key, Answer>()
    },
  )
  return request.items.map(({ key }) => answers.get(key) ?? busy(lockTimeoutMs))
}

async function claimOnce(
  place: PgPlace,
  request: ClaimRequest,
  streams: ReadonlyMap<string, readonly PlacedItem[]>,
): Promise<ReadonlyMap<Key, Answer>> {
  const { session, rows } = await place.sessions.begin(holdStreams(place.tables, place.scope, [...streams.keys()]))
  try {
    const answers = new Map<Key, Answer>()
    const wanted: WantedStream[] = []
    for (const row of rows) {
      const items = streams.get(row.stream) ?? []
      const { verdicts, granted } = claimStream(recordOf(row), items, request)
      for (const [index, { item }] of items.entries()) {
        const verdict = verdicts[index]
        if (verdict !== undefined && verdict.verdict !== 'claimed') answers.set(item.key, verdict)
      }
      if (granted === undefined) continue
      const last =
        items.findLast((_, index) => verdicts[index]?.verdict === 'claimed')?.offset ?? granted.attempts.offset
      wanted.push({ stream: row.stream, items, verdicts, isNew: row.next === null, last, ...granted })
    }
    const counted = await count(place, session, request, wanted)
    if (counted.length === 0) await session.rollback()
    else grant(place, session, request, counted, answers)
    // A stream that was not counted, or not held again, was just taken or moved by somebody else. Its items are claimed
    // again.
    for (const { items } of wanted) {
      for (const { item } of items) if (!answers.has(item.key)) answers.set(item.key, busy(0))
    }
    return answers
  } catch (error) {
    await session.rollback()
    throw error
  }
}

type WantedStream = Pick<StreamClaim, 'verdicts'> &
  NonNullable<StreamClaim['granted']> & {
    readonly stream: string
    readonly items: readonly PlacedItem[]
    readonly isNew: boolean
    /** The last granted offset. */
    readonly last: bigint
  }

/**
 * Commits the count, which another process must see after this one died, and holds the streams again. In between
 * another claim may have taken a stream. A stream whose position has moved, or that another claim has counted, now has
 * another owner.
 */
async function count(
  { tables, scope }: PgPlace,
  session: PgSession,
  { token }: ClaimRequest,
  streams: readonly WantedStream[],
): Promise<readonly WantedStream[]> {
  if (streams.length === 0) return []
  const names = streams.map(({ stream }) => stream)
  const refund = refundStarts(tables, { scope, token, streams: names })
  const begun = streams.map(({ stream, attempts, last }) => ({ stream, first: attempts.offset, last }))
  const fresh = streams.filter(({ isNew }) => isNew).map(({ stream }) => stream)
  const started = countStarts(tables, { scope, token, streams })
  const { rows, counted } = await session.reopen({
    count: fresh.length === 0 ? started : { text: `${started.text};\n${forgetBegun(tables, scope, fresh).text}` },
    uncount: refund,
    first: holdForHandlers(tables, scope, begun),
  })
  const isCounted = new Set(counted.map(({ stream }) => stream))
  const held = new Map(rows.map((row) => [row.stream, row]))
  const isOurs = ({ stream, next }: WantedStream): boolean => {
    const row = held.get(stream)
    if (row?.next !== next.toString() || row.outcome !== null || row.held !== null) return false
    return row.attempt_owner === token && row.is_begun
  }
  const ours = streams.filter(({ stream }) => isCounted.has(stream))
  if (ours.every(isOurs)) return ours
  await session.release([refund, removeBegun(tables, scope, names)])
  return []
}

function grant(
  place: PgPlace,
  session: PgSession,
  { scope, token, retentionMs }: ClaimRequest,
  streams: readonly WantedStream[],
  answers: Map<Key, Answer>,
): void {
  const ledgerStreams: GrantedStream[] = []
  const attempts = new Map<ClaimItem, number>()
  for (const { stream, items, verdicts, next } of streams) {
    const granted: PlacedItem[] = []
    for (const [index, placed] of items.entries()) {
      const verdict = verdicts[index]
      if (verdict?.verdict !== 'claimed') continue
      granted.push(placed)
      attempts.set(placed.item, verdict.attempt)
    }
    ledgerStreams.push({
      stream,
      next,
      items: granted.map(({ item, offset, timestamp }) => ({ key: item.key, offset, timestamp })),
    })
  }
  const ledger = new OffsetsLedger(place, token, ledgerStreams)
  const keys = [...attempts.keys()].map(({ key }) => key)
  const transaction = new ClaimTransaction({ place, session, ledger }, { token, keys })
  for (const [{ key, digest }, attempt] of attempts) {
    // The position is the fence: a late owner finds that it has moved.
    const fence = 0
    const claim: TransactionClaim<PgTransaction> = {
      key,
      digest,
      scope,
      token,
      fence,
      attempt,
      retentionMs,
      transaction,
    }
    answers.set(key, { verdict: 'claimed', fence, attempt, claim })
  }
}

function byStream(items: readonly ClaimItem[]): ReadonlyMap<string, readonly PlacedItem[]> {
  const streams = new Map<string, PlacedItem[]>()
  for (const item of items) {
    if (item.position === undefined) {
      throw new StoreError('STORE_MISUSED', 'expected a position of each item of a store of strategy offsets, got none')
    }
    const { stream, offset, follows, timestamp } = item.position
    const placed = { item, offset, follows, timestamp }
    const ofStream = streams.get(stream)
    if (ofStream === undefined) streams.set(stream, [placed])
    else ofStream.push(placed)
  }
  return streams
}

function recordOf(row: HeldRow): PositionRecord | undefined {
  if (row.next === null) return undefined
  const { outcome, reason, held, torn, attempt_offset: offset, attempt_until: until, attempt_owner: owner } = row
  return {
    next: BigInt(row.next),
    held: held ?? undefined,
    torn: torn === null ? undefined : { until: BigInt(torn), reason: TORN },
    aside: outcome === null ? undefined : { as: outcome === 'g' ? 'given-up' : 'parked', reason: reason ?? '' },
    attempts:
      offset === null
        ? undefined
        : { owner: owner ?? '', offset: BigInt(offset), count: row.attempts ?? 0, until: BigInt(until ?? offset) },
  }
}

function busy(leaseLeftMs: number): Answer {
  return { verdict: 'busy', leaseLeftMs }
}
