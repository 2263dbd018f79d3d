import { Watermark } from '../../../src/internal.ts'

/** One basic.ack: of one tag, or of that tag and everything below. */
export interface AckFrame {
  readonly tag: number
  readonly multiple: boolean
  /** The number of deliveries that it settles. */
  readonly settles: number
}

/**
 * Computes the frames that ack finished deliveries of one channel. The tags of a channel count from 1 without gaps.
 *
 * - Everything up to the watermark is acked with one frame, `ack(t, multiple)`. `t` must not have been settled by a
 *   frame of its own, because the broker would close the channel (406); settled tags below `t` are allowed.
 * - When more than `relieveAbove` tags are finished above a stuck watermark, each of them gets a frame of its own.
 *   Otherwise the prefetch window would be used up by deliveries behind the stuck one.
 */
export class AckWindow {
  readonly #watermark = new Watermark<number>()
  readonly #relieveAbove: number
  /** Finished above the watermark, without a frame yet. */
  readonly #above = new Set<number>()
  /** Settled by a frame of their own, above `#sentUpTo`. */
  readonly #alone = new Set<number>()
  /** Everything up to here is settled. */
  #sentUpTo = 0
  /**
   * Number of deliveries that may be settled, or were settled by a frame of their own; and number of those that `tell`
   * has admitted.
   */
  #finished = 0
  #told = 0

  constructor(relieveAbove: number) {
    this.#relieveAbove = relieveAbove
  }

  /** Every registered delivery has been settled by a frame. */
  get isSettled(): boolean {
    return this.#watermark.open === 0 && this.#sentUpTo === this.#finishedUpTo
  }

  /** Registers a delivery on arrival. Returns the ticket that finishes it. */
  receive(tag: number): number {
    return this.#watermark.receive(tag)
  }

  /** The delivery may be acked. Idempotent. */
  finish(tag: number, ticket: number): void {
    if (tag <= this.#finishedUpTo || this.#alone.has(tag) || this.#above.has(tag)) return
    this.#finished++
    this.#above.add(tag)
    this.#advance(ticket)
  }

  /** The delivery was settled by a frame of its own that is not an ack. */
  settledAlone(tag: number, ticket: number): void {
    this.#finished++
    this.#alone.add(tag)
    this.#advance(ticket)
  }

  /** Takes the frames that are due; with `everything` also those for tags above the watermark. */
  takeFrames(everything = false): AckFrame[] {
    const frames: AckFrame[] = []
    const upTo = this.#finishedUpTo
    let top = upTo
    while (top > this.#sentUpTo && this.#alone.has(top)) top--
    let settles = upTo - this.#sentUpTo
    for (let tag = this.#sentUpTo + 1; tag <= upTo; tag++) if (this.#alone.delete(tag)) settles--
    if (top > this.#sentUpTo) frames.push({ tag: top, multiple: true, settles })
    this.#sentUpTo = upTo

    if (this.#above.size > (everything ? 0 : this.#relieveAbove)) {
      for (const tag of this.#above) {
        frames.push({ tag, multiple: false, settles: 1 })
        this.#alone.add(tag)
      }
      this.#above.clear()
    }
    return frames
  }

  /**
   * Called right before a frame is written. Returns why it must not be written, if so. It counts independently of the
   * code that makes frames, so that it finds a wrong one: no frame acks an unfinished delivery, and none one that
   * another frame has settled.
   */
  tell({ tag, multiple, settles }: AckFrame): string | undefined {
    const unfinished = this.#watermark.lowestUnfinished
    if (multiple && unfinished !== undefined && tag >= unfinished) {
      return `an ack of all up to tag ${tag}, with tag ${unfinished} unfinished`
    }
    const told = this.#told + settles
    if (told > this.#finished) return `a frame of tag ${tag} for ${settles}: ${told} told of ${this.#finished} finished`
    this.#told = told
    return undefined
  }

  /** Tags that the watermark has passed are acked together. */
  #advance(ticket: number): void {
    const before = this.#finishedUpTo
    if (!this.#watermark.finish(ticket)) return // mutant: ack-over-the-unfinished
    for (let tag = before + 1; tag <= this.#finishedUpTo; tag++) this.#above.delete(tag)
  }

  get #finishedUpTo(): number {
    return this.#watermark.finishedUpTo ?? 0
  }
}
