import {
  compareLandmark,
  isFull,
  Watermark,
  type Expected,
  type Landmark,
  type Likeness,
  type Load,
  type StoredPosition,
} from '../../../src/internal.ts'
import type { RawMessage } from '../client.ts'
import { PartitionLanes } from './partition-lanes.ts'

/** Why a partition is not fetched for now. */
export type Hold =
  /** Too many of its messages are in flight. */
  | 'full'
  /** The next message of a retry topic is not due yet. */
  | 'not-due'
  /** Strategy `offsets`: its log may not be the one for which its position was stored. A person must decide. */
  | 'held'
  /** Its next record batch takes longer than the session. A person must decide. */
  | 'stalls'

/**
 * One partition during one assignment. Every join of the group ends all epochs: deliveries of an earlier epoch cannot
 * be settled in a later one, because the later one reads again from the committed offset.
 */
export class PartitionEpoch implements Load {
  readonly topic: string
  readonly partition: number
  /** `topic/partition` */
  readonly name: string
  readonly lanes: PartitionLanes
  /** The join of the group that it belongs to, as counted by `Assignment`. */
  readonly join: number
  /** Set by `Assignment` only: its deliveries may be settled. Read for every delivery. */
  isLive = false
  /** The offset that the broker is known to have, so that it is not committed twice. */
  committed: bigint | undefined
  /** Where the next batch must begin; `undefined` until the group's committed offset is known. */
  expected: Expected | undefined
  /** Where it begins instead of the first offset. Nothing is taken before the group has committed this offset. */
  start: bigint | undefined
  /**
   * The offset after the last message received. Before the first message it is the stored position, if there is one.
   */
  follows: bigint | undefined
  /** It is not known yet whether the log reaches to the stored position, so the position is not committed. */
  isUnchecked = false
  /**
   * The message that must be found in the log before anything is taken; kafkajs was sent to its offset. `undefined`: no
   * check is needed.
   */
  proof: Landmark | undefined
  /** Where it goes on after `proof`, if that is a message from before this epoch. `undefined`: behind the message. */
  resumes: bigint | undefined
  /** Strategy `offsets`: why none of its messages may be handled. It is stored, so it outlasts this epoch. */
  heldBecause: string | undefined
  /**
   * The last message received, if something of it can be compared. Before the first message it is the one right before
   * the stored position.
   */
  last: Landmark | undefined
  /** The offset to which kafkajs was sent, or from which it was sent back. A late batch from there is not a finding. */
  sought: bigint | undefined
  /** kafkajs had not found its position before the join, and had committed -2: it has begun the partition anew. */
  isReset = false
  /** First offset of a control batch after a gap, until it is seen again. */
  suspect: bigint | undefined
  /** Number of consecutive batches that did not fit. */
  misfits = 0
  /** Its log turned out to be another one, so its committed offset means nothing. */
  isVoid = false
  /** Resolves when all decisions that ask the broker are made; `undefined` if there are none. */
  deciding: Promise<void> | undefined
  /** Number of deliveries known to be below the committed offset. */
  settled = 0
  /** Why it is paused. A new epoch has no holds. */
  readonly holds: Set<Hold> = new Set()
  /** The end of the partition, from the last batch. */
  high: bigint | undefined
  /** Set while `isFull`: called when there is room again. */
  onRoom: (() => void) | undefined
  /** Called when no message is in flight any more. */
  onIdle: (() => void) | undefined
  #limits: Load | undefined
  /** Messages of the last batch. Those from `#rawFrom` on are not taken yet. */
  #raw: readonly RawMessage[] = NONE
  #rawFrom = 0
  #received = 0
  #inFlight = 0
  #bytes = 0
  /** When the watermark last moved. */
  #watermarkSince = performance.now()
  /** The landmark that it began with. */
  #before: Landmark | undefined
  readonly #watermark = new Watermark<bigint, Landmark>()

  constructor(topic: string, partition: number, join: number) {
    this.topic = topic
    this.partition = partition
    this.name = `${topic}/${partition}`
    this.lanes = new PartitionLanes(this.name)
    this.join = join
  }

  /**
   * Everything below `next` is fetched: these messages, which are taken one by one while there is room, and the gaps,
   * markers and aborted records between and after them.
   */
  fetched(messages: readonly RawMessage[], next: bigint): void {
    this.#raw = messages
    this.#rawFrom = 0
    this.advanceTo(next)
  }

  /** Messages that are fetched and not taken yet. */
  get waiting(): number {
    return this.#raw.length - this.#rawFrom
  }

  /** Removes and returns the first waiting message, which the caller must register at once. */
  takeWaiting(): RawMessage | undefined {
    const first = this.#raw[this.#rawFrom++]
    if (this.#rawFrom >= this.#raw.length) this.#dropWaiting()
    return first
  }

  /** Nothing of it is taken or settled from now on. */
  end(): void {
    this.isLive = false
    this.#dropWaiting()
  }

  /**
   * Begins at a stored position. It begins one message earlier if that message can show whether the log is the same.
   */
  goOnFrom({ next, timestamp, held }: StoredPosition): void {
    this.follows = next
    this.isUnchecked = true
    this.heldBecause = held
    this.proof = timestamp === undefined ? undefined : { offset: next - 1n, timestamp }
    this.last = this.proof
    this.#before = this.proof
    this.expected = { kind: 'offset', offset: this.proof?.offset ?? next }
  }

  /** Nothing is taken before this message from before the epoch was compared. Then it goes on where it was about to. */
  proveBy(landmark: Landmark): void {
    this.#before = landmark
    this.resumes = this.expected?.kind === 'offset' ? this.expected.offset : undefined
    this.follows = landmark.offset + 1n
    this.proof = landmark
    this.expected = { kind: 'offset', offset: landmark.offset }
  }

  /** Nothing speaks against the log. Returns where it goes on, if that is not behind the message that was compared. */
  proven(): bigint | undefined {
    const { resumes } = this
    if (resumes === undefined) return undefined
    this.resumes = undefined
    this.follows = undefined
    this.proof = undefined
    return resumes
  }

  /** Compares the first message of a batch with `proof`, to find out whether the log is the same. */
  compare(first: RawMessage | undefined): Likeness {
    if (this.proof === undefined || first === undefined) return 'unknown'
    return compareLandmark(this.proof, landmarkOf(first, BigInt(first.offset)))
  }

  /** Removes messages that were fetched again only for `proof`: they are over or in flight. */
  withoutKnown(messages: readonly RawMessage[]): readonly RawMessage[] {
    const from = this.resumes ?? this.follows
    const [first] = messages
    if (first === undefined || from === undefined || BigInt(first.offset) >= from) return messages
    return messages.filter(({ offset }) => BigInt(offset) >= from)
  }

  /** Where it goes on behind a batch that ends with `last`: not before what was known to be over. */
  behind(last: string): bigint {
    const next = BigInt(last) + 1n
    return this.resumes !== undefined && this.resumes > next ? this.resumes : next
  }

  /** Registers a message that arrived. Returns the ticket that finishes it. */
  receive(offset: bigint, bytes: number, landmark?: Landmark): number {
    if (this.#watermark.open === 0) this.#watermarkSince = performance.now()
    const ticket = this.#watermark.receive(offset, landmark)
    this.follows = offset + 1n
    this.last = landmark
    this.#received++
    this.#inFlight++
    this.#bytes += bytes
    return ticket
  }

  /** Call it once for each ticket. */
  finish(ticket: number, bytes: number): void {
    this.#inFlight--
    this.#bytes -= bytes
    if (this.#watermark.finish(ticket)) this.#watermarkSince = performance.now()
    if (this.#inFlight === 0) this.onIdle?.()
    if (this.#limits === undefined || isFull(this, this.#limits, true)) return
    this.#limits = undefined
    this.onRoom?.()
  }

  /** True when `limits` are reached, and until at most half is left. Then `onRoom` is called. */
  isFullBy(limits: Load): boolean {
    if (this.#limits === undefined && isFull(this, limits, false)) this.#limits = limits
    return this.#limits !== undefined
  }

  get inFlight(): number {
    return this.#inFlight
  }

  get bytes(): number {
    return this.#bytes
  }

  get watermarkLag(): number {
    const lowest = this.#watermark.lowestUnfinished
    if (lowest === undefined) return 0
    // Asked for before each message. No offset reaches 2 ** 53.
    const waiting = this.#raw[this.#rawFrom]
    if (waiting !== undefined) return Number(waiting.offset) - Number(lowest)
    const next = this.#taken
    return next === undefined ? 0 : Number(next - lowest)
  }

  get watermarkAgeMs(): number {
    return this.#watermark.open === 0 ? 0 : Math.round(performance.now() - this.#watermarkSince)
  }

  /** Nothing was received yet. */
  get isFresh(): boolean {
    return this.#received === 0
  }

  /** Number of deliveries below the watermark. */
  get finished(): number {
    return this.#received - this.#watermark.open
  }

  /** Everything below `next` was received, or is a gap, a marker or an aborted record. */
  advanceTo(next: bigint): void {
    this.expected = { kind: 'offset', offset: next }
    if (this.resumes !== undefined) this.follows = undefined
    this.proof = undefined
    this.resumes = undefined
    this.suspect = undefined
    this.misfits = 0
    this.isUnchecked = false
  }

  /** The offset that may be committed: the lowest unfinished one, else the one after the last received. */
  get watermark(): bigint | undefined {
    if (this.isUnchecked || this.heldBecause !== undefined) return undefined
    return this.#watermark.lowestUnfinished ?? this.#taken // mutant: commit-of-the-highest-offset
  }

  /** The last message below `watermark`, if known. */
  get landmark(): Landmark | undefined {
    return this.#watermark.noteOfFinished ?? this.#before
  }

  /** Everything below it was taken, or is a gap, a marker or an aborted record. */
  get #taken(): bigint | undefined {
    const waiting = this.#raw[this.#rawFrom]
    if (waiting !== undefined) return BigInt(waiting.offset) // mutant: commit-over-what-waits
    return this.expected?.kind === 'offset' && this.proof === undefined ? this.expected.offset : undefined
  }

  /**
   * Called right before `offset` is committed. Returns why it must not be committed, if so. The check does not use
   * `watermark`, so that it finds a wrong one: no commit goes backwards, and none passes an offset that is unfinished
   * or was never received.
   */
  whyNotCommit(offset: bigint): string | undefined {
    const { committed, expected } = this
    if (committed !== undefined && offset < committed) return `back from ${committed} to ${offset}`
    const unfinished = this.#watermark.lowestUnfinished
    if (unfinished !== undefined) return offset > unfinished ? `${offset}, with ${unfinished} unfinished` : undefined
    if (this.#inFlight > 0) return `${offset}, with ${this.#inFlight} under way`
    const waiting = this.#raw[this.#rawFrom]
    if (waiting !== undefined && offset > BigInt(waiting.offset)) return `${offset}, with ${waiting.offset} not taken`
    const isReceived = expected?.kind === 'offset' && offset <= expected.offset
    return isReceived ? undefined : `${offset}, which was not received`
  }

  #dropWaiting(): void {
    this.#raw = NONE
    this.#rawFrom = 0
  }
}

/** `undefined`: nothing of the message distinguishes it from another one at its offset. */
export function landmarkOf({ timestamp, batchContext }: RawMessage, offset: bigint): Landmark | undefined {
  const [time, epoch] = [Number(timestamp), batchContext?.partitionLeaderEpoch ?? -1]
  if (!(time >= 0) && !(epoch >= 0)) return undefined
  return {
    offset,
    timestamp: time >= 0 ? time : undefined,
    leaderEpoch: epoch >= 0 ? epoch : undefined,
  }
}

const NONE: readonly RawMessage[] = []
