import type { OwnerToken, Reason } from './record.ts'
import type { EpochMs } from './units.ts'

/** The stored position of a stream. */
export interface StoredPosition {
  /** The lowest offset that is not over. */
  readonly next: bigint
  /**
   * The broker's timestamp of the message right before `next`. Offset and timestamp together distinguish this log from
   * another one with the same name. `undefined`: not known.
   */
  readonly timestamp?: EpochMs | undefined
  /** Why nothing of the stream is handled until a person decides. */
  readonly held?: Reason | undefined
}

/** The record of one stream in a store of strategy `offsets`, however many messages the stream has. */
export interface PositionRecord {
  /** The lowest offset that is not over. All offsets below it are handled, dead-lettered with a confirm, or gaps. */
  readonly next: bigint
  /** The message at `next` is set aside. Its dead letter may not be confirmed yet. */
  readonly aside: { readonly as: 'given-up' | 'parked'; readonly reason: Reason } | undefined
  readonly attempts: CountedAttempts | undefined
  /** Why nothing of the stream is granted until a person decides: its offsets may belong to another log. */
  readonly held?: Reason | undefined
  /** A handler committed the transaction of these messages itself, from `next` up to `until`: they are parked. */
  readonly torn?: { readonly until: bigint; readonly reason: Reason } | undefined
}

/** Attempts of messages that are not over, committed before the handler starts. */
export interface CountedAttempts {
  /** Token of the claim that counted last. If that claim is sent again, it is counted once. */
  readonly owner: OwnerToken
  readonly offset: bigint
  /** Starts of the message at `offset`. */
  readonly count: number
  /** The messages after `offset`, up to this one, may have been started once, in a transaction that they shared. */
  readonly until: bigint
}

/** A message of a stream to be claimed. */
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
  /** Must be written before any handler starts. `undefined`: nothing is granted. */
  readonly granted: { readonly next: bigint; readonly attempts: CountedAttempts } | undefined
}

/**
 * Decides a claim of messages of one stream, in their order. The caller must hold the stream, so that nobody else
 * counts or moves it meanwhile.
 *
 * A message is granted only if all messages before it are over according to the store, or are granted in the same
 * claim. That the source has read past them proves nothing. So no crash, and no restore of an older database, can skip
 * a message that was never handled.
 */
export function claimStream(
  record: PositionRecord | undefined,
  items: readonly StreamItem[],
  { token, alone }: { readonly token: OwnerToken; readonly alone: boolean },
): StreamClaim {
  // Not even `done`: if the topic was created anew, offsets below the position are messages that nobody has handled.
  if (record?.held !== undefined) return { verdicts: items.map(() => BEHIND), granted: undefined }
  const verdicts: StreamVerdict[] = []
  /** All offsets below it are over, or will be after this claim. */
  let reached = record?.next
  /** The verdict for all messages after one that must not be passed. */
  let held: StreamVerdict | undefined
  /** An earlier message in this claim was started before, and is not over. */
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
    if (record?.torn !== undefined && offset <= record.torn.until) {
      verdicts.push({ verdict: 'parked', reason: record.torn.reason })
      held = WAIT
      continue
    }
    const earlier = startsOf(record?.attempts, offset, token)
    // A message that was started before may be what kills the process: nothing else of its stream is granted with it.
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

/** The position that a mark writes: everything up to the last message of the transaction is over. */
export function nextAfter(granted: readonly bigint[]): bigint {
  return granted.reduce((highest, offset) => (offset > highest ? offset : highest), -1n) + 1n
}

/** The attempts after those of one claim were given back. Only the claim that counted last can give them back. */
export function refundStarts(attempts: CountedAttempts | undefined, token: OwnerToken): CountedAttempts | undefined {
  if (attempts === undefined || attempts.owner !== token) return attempts
  return attempts.count <= 1 ? undefined : { ...attempts, count: attempts.count - 1, owner: '' }
}

/**
 * Messages after `until` never began, although the claim was granted them: their attempts are given back. A claim of
 * several messages of a stream is granted only messages that nobody started before.
 */
export function shortenStarts(
  attempts: CountedAttempts | undefined,
  token: OwnerToken,
  until: bigint,
): CountedAttempts | undefined {
  if (attempts === undefined || attempts.owner !== token || attempts.until <= until) return attempts
  return { ...attempts, until }
}

/**
 * The stream may have messages between the position and this one. A stream without a record begins with its first
 * delivery.
 */
function isBehind(reached: bigint | undefined, { offset, follows }: StreamItem): boolean {
  if (reached === undefined) return follows !== undefined
  return (follows ?? offset) > reached
}

/** Starts by other claims than this one. */
function startsOf(attempts: CountedAttempts | undefined, offset: bigint, token: OwnerToken): number {
  if (attempts === undefined || offset < attempts.offset || offset > attempts.until) return 0
  const isOwn = attempts.owner === token
  if (offset === attempts.offset) return isOwn ? attempts.count - 1 : attempts.count
  return isOwn ? 0 : 1
}

const DONE: StreamVerdict = { verdict: 'done' }
const BEHIND: StreamVerdict = { verdict: 'behind' }
const WAIT: StreamVerdict = { verdict: 'busy', leaseLeftMs: 0 }
