import { Watermark } from '../../../src/index.ts'

/** One basic.ack: of a tag alone, or of it and everything below. */
export interface AckFrame {
  readonly tag: number
  readonly multiple: boolean
  /** How many deliveries it settles. */
  readonly settles: number
}

/**
 * Which frames ack what is finished on one channel. Tags of a channel count from 1 without gaps.
 *
 * - Everything up to the watermark goes with one frame, `ack(t, multiple)`, where `t` must not have been settled by a frame
 *   of its own: the broker closes the channel for that (406), while settled tags below `t` are fine.
 * - When more than `relieveAbove` tags are finished above a stuck watermark, each of them gets a frame of its own, or the
 *   prefetch window would starve behind the straggler.
 */
export class AckWindow {
  readonly #watermark = new Watermark<number>()
  readonly #relieveAbove: number
  /** Finished above the watermark; no frame yet. */
  readonly #above = new Set<number>()
  /** Settled by a frame of their own, above `#sentUpTo`. */
  readonly #alone = new Set<number>()
  /** Everything up to here is settled. */
  #sentUpTo = 0
  /** Deliveries that may be settled, or were by a frame of their own; and those that `tell` let pass. */
  #finished = 0
  #told = 0

  constructor(relieveAbove: number) {
    this.#relieveAbove = relieveAbove
  }

  /** Each delivery that was registered has been settled by a frame. */
  get isSettled(): boolean {
    return this.#watermark.open === 0 && this.#sentUpTo === this.#finishedUpTo
  }

  /** Registers a delivery as it arrives. Returns the ticket that finishes it. */
  receive(tag: number): number {
    return this.#watermark.receive(tag)
  }

  /** The delivery may be acked. Twice is as good as once. */
  finish(tag: number, ticket: number): void {
    if (tag <= this.#finishedUpTo || this.#alone.has(tag) || this.#above.has(tag)) return
    this.#finished++
    this.#above.add(tag)
    this.#advance(ticket)
  }

  /** The delivery was settled by a frame of its own, which is not an ack. */
  settledAlone(tag: number, ticket: number): void {
    this.#finished++
    this.#alone.add(tag)
    this.#advance(ticket)
  }

  /** Takes the frames that are due; `everything` also what is finished above the watermark. */
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
   * Asked right before a frame is written: why it must not be, if so. A count of its own, beside what makes frames, so that a
   * wrong one is found out: no frame acks what is unfinished, none what another has settled.
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

  /** What the watermark has passed goes with the run. */
  #advance(ticket: number): void {
    const before = this.#finishedUpTo
    if (!this.#watermark.finish(ticket)) return
    for (let tag = before + 1; tag <= this.#finishedUpTo; tag++) this.#above.delete(tag)
  }

  get #finishedUpTo(): number {
    return this.#watermark.finishedUpTo ?? 0
  }
}
