import { Watermark } from '../../src/index.ts'
import type { Expected } from './expected-offset.ts'

/**
 * One partition during one assignment. Every join of the group ends all epochs: what was delivered in an earlier one can
 * not be settled in a later one, because the later one reads again from the committed offset.
 */
export class PartitionEpoch {
  readonly topic: string
  readonly partition: number
  /** What the broker is known to have, so that the same offset is not committed twice. */
  committed: bigint | undefined
  /** Where the next batch must begin; `undefined` until the group's committed offset is known. */
  expected: Expected | undefined
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
  #received = 0
  readonly #watermark = new Watermark<bigint>()

  constructor(topic: string, partition: number) {
    this.topic = topic
    this.partition = partition
  }

  get name(): string {
    return `${this.topic}/${this.partition}`
  }

  /** Registers a message that arrived. Returns the ticket that finishes it. */
  receive(offset: bigint): number {
    const ticket = this.#watermark.receive(offset)
    this.#received++
    return ticket
  }

  finish(ticket: number): void {
    this.#watermark.finish(ticket)
  }

  /** Deliveries below the watermark. */
  get finished(): number {
    return this.#received - this.#watermark.open
  }

  /** All below `next` has been received, or is a gap, a marker or an aborted record. */
  advanceTo(next: bigint): void {
    this.expected = { kind: 'offset', offset: next }
    this.suspect = undefined
    this.misfits = 0
  }

  /** What may be committed: the lowest unfinished offset, else the one after the last received. */
  get watermark(): bigint | undefined {
    const received = this.expected?.kind === 'offset' ? this.expected.offset : undefined
    return this.#watermark.lowestUnfinished ?? received
  }
}
