import { isFull, Watermark, type EpochMs, type Expected, type Load, type StoredPosition } from '../../../src/index.ts'
import type { KafkaMessageLike } from '../slice.ts'

/** Why nothing of a partition is to be fetched for now. */
export type Hold =
  /** Too much of it is under way. */
  | 'full'
  /** The next message of a retry topic waits for its time. */
  | 'not-due'
  /** Strategy `offsets`: its log may not be the one that its position was stored of. A person decides. */
  | 'held'

/** A message that tells its log from another one of the same name. */
interface Landmark {
  readonly offset: bigint
  readonly timestamp: EpochMs
}

/**
 * One partition during one assignment. Every join of the group ends all epochs: what was delivered in an earlier one can
 * not be settled in a later one, because the later one reads again from the committed offset.
 */
export class PartitionEpoch {
  readonly topic: string
  readonly partition: number
  /** `topic/partition` */
  readonly name: string
  /** The join of the group that it belongs to, as `Assignment` counts them. */
  readonly join: number
  /** Of `Assignment` alone: what is delivered in it may be settled. Asked for every delivery. */
  isLive = false
  /** What the broker is known to have, so that the same offset is not committed twice. */
  committed: bigint | undefined
  /** Where the next batch must begin; `undefined` until the group's committed offset is known. */
  expected: Expected | undefined
  /** Where it begins instead of the beginning, until the group has that committed: nothing of it is taken before. */
  start: bigint | undefined
  /** Behind the last message received; before the first the stored position, if there is one. */
  follows: bigint | undefined
  /** Nobody knows yet whether its log reaches to the stored position: that is not committed before. */
  isUnchecked = false
  /** Must be found in the log before anything of it is taken: kafkajs was sent to its offset. `undefined`: nothing is in question. */
  proof: Landmark | undefined
  /** Strategy `offsets`: why nothing of it may be handled. Stored, so that it outlasts this epoch. */
  heldBecause: string | undefined
  /** The last message received, where the broker told its time; before the first the one right before the stored position. */
  last: Landmark | undefined
  /** Strategy `offsets`: where kafkajs was sent to, or from where it was sent back: a batch from there is no finding, however late. */
  sought: bigint | undefined
  /** First offset of a control batch that came after a gap, until it is seen again. */
  suspect: bigint | undefined
  /** Batches in a row that did not fit. */
  misfits = 0
  /** Its log turned out to be another one: what was committed of it means nothing now. */
  isVoid = false
  /** Ends when all batches that have to ask the broker are decided; `undefined` when none has to. */
  deciding: Promise<void> | undefined
  /** Deliveries known to be below the committed offset. */
  settled = 0
  /** Why it is paused; a new epoch is held by nothing. */
  readonly holds: Set<Hold> = new Set()
  /** The end of the partition, as the last batch told it. */
  high: bigint | undefined
  /** Set while `isFull`: called when there is room again. */
  onRoom: (() => void) | undefined
  #limits: Load | undefined
  /** Of the last batch, from `#rawFrom` on: fetched, and not taken yet. */
  #raw: readonly KafkaMessageLike[] = NONE
  #rawFrom = 0
  #received = 0
  #inFlight = 0
  #bytes = 0
  /** Since when the watermark stands where it is. */
  #watermarkSince = performance.now()
  readonly #watermark = new Watermark<bigint>()

  constructor(topic: string, partition: number, join: number) {
    this.topic = topic
    this.partition = partition
    this.name = `${topic}/${partition}`
    this.join = join
  }

  /**
   * All below `next` is fetched: these messages, which are taken one by one as there is room, and gaps, markers and aborted records
   * between and behind them.
   */
  fetched(messages: readonly KafkaMessageLike[], next: bigint): void {
    this.#raw = messages
    this.#rawFrom = 0
    this.advanceTo(next)
  }

  /** Messages that are fetched and not taken yet. */
  get waiting(): number {
    return this.#raw.length - this.#rawFrom
  }

  /** The first that waits, and it does so no longer: to be registered at once. */
  takeWaiting(): KafkaMessageLike | undefined {
    const first = this.#raw[this.#rawFrom++]
    if (this.#rawFrom >= this.#raw.length) this.#dropWaiting()
    return first
  }

  /** Nothing of it is taken or settled any more. */
  end(): void {
    this.isLive = false
    this.#dropWaiting()
  }

  /** Begins at a stored position: one message before it, where that can tell whether the log is the same. */
  goOnFrom({ next, timestamp, held }: StoredPosition): void {
    this.follows = next
    this.isUnchecked = true
    this.heldBecause = held
    this.proof = timestamp === undefined ? undefined : { offset: next - 1n, timestamp }
    this.last = this.proof
    this.expected = { kind: 'offset', offset: this.proof?.offset ?? next }
  }

  /** Whether the log is the one that `proof` was in, by the first message of a batch that begins there. */
  compare(first: { readonly offset: string; readonly timestamp: string } | undefined): 'same' | 'another' | 'unknown' {
    const { proof } = this
    if (proof === undefined || first === undefined || first.offset !== proof.offset.toString()) return 'unknown'
    return Number(first.timestamp) === proof.timestamp ? 'same' : 'another'
  }

  /** Some were fetched once more for `proof`, and are over, or under way. */
  withoutKnown(messages: readonly KafkaMessageLike[]): readonly KafkaMessageLike[] {
    const { follows } = this
    const [first] = messages
    if (first === undefined || follows === undefined || BigInt(first.offset) >= follows) return messages
    return messages.filter(({ offset }) => BigInt(offset) >= follows)
  }

  /** Registers a message that arrived. Returns the ticket that finishes it. */
  receive(offset: bigint, bytes: number, timestamp?: EpochMs): number {
    if (this.#watermark.open === 0) this.#watermarkSince = performance.now()
    const ticket = this.#watermark.receive(offset)
    this.follows = offset + 1n
    this.last = timestamp === undefined ? undefined : { offset, timestamp }
    this.#received++
    this.#inFlight++
    this.#bytes += bytes
    return ticket
  }

  /** Once for each ticket. */
  finish(ticket: number, bytes: number): void {
    this.#inFlight--
    this.#bytes -= bytes
    if (this.#watermark.finish(ticket)) this.#watermarkSince = performance.now()
    if (this.#limits === undefined || isFull(this.load, this.#limits, true)) return
    this.#limits = undefined
    this.onRoom?.()
  }

  /** As much as `limits` allow is under way. Stays so until at most half is left; `onRoom` tells when. */
  isFullBy(limits: Load): boolean {
    if (this.#limits === undefined && isFull(this.load, limits, false)) this.#limits = limits
    return this.#limits !== undefined
  }

  get load(): Load {
    const lowest = this.#watermark.lowestUnfinished
    const next = this.#taken
    const watermarkLag = lowest === undefined || next === undefined ? 0 : Number(next - lowest)
    return { inFlight: this.#inFlight, bytes: this.#bytes, watermarkLag }
  }

  get watermarkAgeMs(): number {
    return this.#watermark.open === 0 ? 0 : Math.round(performance.now() - this.#watermarkSince)
  }

  /** Nothing was received yet. */
  get isFresh(): boolean {
    return this.#received === 0
  }

  /** Deliveries below the watermark. */
  get finished(): number {
    return this.#received - this.#watermark.open
  }

  /** All below `next` has been received, or is a gap, a marker or an aborted record. */
  advanceTo(next: bigint): void {
    this.expected = { kind: 'offset', offset: next }
    this.proof = undefined
    this.suspect = undefined
    this.misfits = 0
    this.isUnchecked = false
  }

  /** What may be committed: the lowest unfinished offset, else the one after the last received. */
  get watermark(): bigint | undefined {
    if (this.isUnchecked || this.heldBecause !== undefined) return undefined
    return this.#watermark.lowestUnfinished ?? this.#taken
  }

  /** All below it was taken, or is a gap, a marker or an aborted record. */
  get #taken(): bigint | undefined {
    const waiting = this.#raw[this.#rawFrom]
    if (waiting !== undefined) return BigInt(waiting.offset)
    return this.expected?.kind === 'offset' && this.proof === undefined ? this.expected.offset : undefined
  }

  /**
   * Asked right before `offset` is committed: why it must not be, if so. A view of its own, beside what `watermark` computes, so
   * that a wrong one is found out: no commit goes back, none goes over what is unfinished or was never received.
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

const NONE: readonly KafkaMessageLike[] = []
