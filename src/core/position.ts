import type { OwnerToken, Reason } from './record.ts'
import type { EpochMs } from './units.ts'

/** Where a stream goes on, by what is stored of it. */
export interface StoredPosition {
  /** The lowest offset that is not over. */
  readonly next: bigint
  /**
   * The broker's timestamp of the message right before `next`. The two together tell this log from another one with the same
   * name. `undefined`: not known.
   */
  readonly timestamp?: EpochMs | undefined
  /** Why nothing of the stream may be handled until a person decides. */
  readonly held?: Reason | undefined
}

/** What a store of strategy `offsets` keeps of one stream, however many messages it has. */
export interface PositionRecord {
  /** The lowest offset that is not over: all below it is handled, dead-lettered with a confirm, or a gap. */
  readonly next: bigint
  /** The message at `next` is set aside; that its dead letter is confirmed is not known yet. */
  readonly aside: { readonly as: 'given-up' | 'parked'; readonly reason: Reason } | undefined
  readonly attempts: CountedAttempts | undefined
  /** Why nothing of the stream is granted until a person decides: its offsets may belong to another log. */
  readonly held?: Reason | undefined
}

/** Attempts of what is not over yet, committed before the handler starts. */
export interface CountedAttempts {
  /** Of the claim that counted last: sent again, it counts once. */
  readonly owner: OwnerToken
  readonly offset: bigint
  /** Starts of the message at `offset`. */
  readonly count: number
  /** The messages behind `offset`, up to this one, may have been started once, in a transaction that they shared. */
  readonly until: bigint
}

/** A message of a stream that is to be claimed. */
export interface StreamItem {
  readonly offset: bigint
  /** See `StreamPosition.follows`. */
  readonly follows: bigint | undefined
}

export type StreamVerdict =
  | { readonly verdict: 'claimed'; readonly attempt: number }
  | { readonly verdict: 'busy'; readonly leaseLeftMs: number }
  | { readonly verdict: 'again-alone'; readonly attempts: number }
  | { readonly verdict: 'behind' | 'done' }
  | { readonly verdict: 'given-up' | 'parked'; readonly reason: Reason }

export interface StreamClaim {
  /** In the order of the items. */
  readonly verdicts: readonly StreamVerdict[]
  /** To be written before any handler starts. `undefined`: nothing is granted. */
  readonly granted: { readonly next: bigint; readonly attempts: CountedAttempts } | undefined
}

/**
 * What a claim makes of the messages of one stream, in their order. Whoever calls it holds the stream: nobody else counts or
 * moves it meanwhile.
 *
 * A message is granted only where all before it is over, or is granted in the same claim, by what the store itself has: that
 * a source has read on is no proof. So nothing can be passed over that was never handled, whatever crashed, and whether
 * the database was restored to an older state meanwhile.
 */
export function claimStream(
  record: PositionRecord | undefined,
  items: readonly StreamItem[],
  { token, alone }: { readonly token: OwnerToken; readonly alone: boolean },
): StreamClaim {
  // Not even `done`: below the position of a topic that was created anew lie messages that nobody has handled.
  if (record?.held !== undefined) return { verdicts: items.map(() => BEHIND), granted: undefined }
  const verdicts: StreamVerdict[] = []
  /** All below is over, or is by then. */
  let reached = record?.next
  /** What everything behind a message is told that must not be passed. */
  let held: StreamVerdict | undefined
  /** One before it was started before, and is not over. */
  let isTriedBefore = false
  let first: { readonly offset: bigint; readonly attempt: number } | undefined
  let last: bigint | undefined

  for (const { offset, follows } of items) {
    if (reached !== undefined && offset < reached) {
      verdicts.push(DONE)
      continue
    }
    if (!isTriedBefore) held ??= isBehind(reached, { offset, follows }) ? BEHIND : undefined
    if (held !== undefined) {
      verdicts.push(held)
      continue
    }
    if (record?.aside !== undefined && record.next === offset) {
      verdicts.push({ verdict: record.aside.as, reason: record.aside.reason })
      held = WAIT
      continue
    }
    const earlier = startsOf(record?.attempts, offset, token)
    // What has been started before may be what kills a process: nothing of its stream is granted with it.
    if (isTriedBefore || (earlier > 0 && (!alone || first !== undefined))) {
      isTriedBefore = true
      verdicts.push({ verdict: 'again-alone', attempts: earlier })
      continue
    }
    isTriedBefore = earlier > 0
    verdicts.push({ verdict: 'claimed', attempt: earlier + 1 })
    first ??= { offset, attempt: earlier + 1 }
    last = offset
    reached = offset + 1n
  }

  if (first === undefined || last === undefined) return { verdicts, granted: undefined }
  const known = record?.attempts?.until ?? last
  const until = known > last ? known : last
  const attempts = { owner: token, offset: first.offset, count: first.attempt, until }
  return { verdicts, granted: { next: record?.next ?? first.offset, attempts } }
}

/** What a mark writes: over is all up to the last message of the transaction. */
export function nextAfter(granted: readonly bigint[]): bigint {
  return granted.reduce((highest, offset) => (offset > highest ? offset : highest), -1n) + 1n
}

/** The attempts after those of one claim were given back; the claim that counted last is the only one that can. */
export function refundStarts(attempts: CountedAttempts | undefined, token: OwnerToken): CountedAttempts | undefined {
  if (attempts === undefined || attempts.owner !== token) return attempts
  return attempts.count <= 1 ? undefined : { ...attempts, count: attempts.count - 1, owner: '' }
}

/** Between what is over and this message the stream may hold something. A stream without a record begins where it is read. */
function isBehind(reached: bigint | undefined, { offset, follows }: StreamItem): boolean {
  if (reached === undefined) return follows !== undefined
  return (follows ?? offset) > reached
}

/** Starts by claims other than this one. */
function startsOf(attempts: CountedAttempts | undefined, offset: bigint, token: OwnerToken): number {
  if (attempts === undefined || offset < attempts.offset || offset > attempts.until) return 0
  const isOwn = attempts.owner === token
  if (offset === attempts.offset) return isOwn ? attempts.count - 1 : attempts.count
  return isOwn ? 0 : 1
}

const DONE: StreamVerdict = { verdict: 'done' }
const BEHIND: StreamVerdict = { verdict: 'behind' }
const WAIT: StreamVerdict = { verdict: 'busy', leaseLeftMs: 0 }
