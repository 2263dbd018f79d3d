import type { LogBounds, ReplayPart } from '../../../src/internal.ts'

/** How often in turn a partition must be too short or missing: a new leader may not know its full end yet. */
const SHORT_LOOKS = 3

/** Reading one partition. Every offset below `next` was covered by a fetch that began at or below it. */
export class Part {
  readonly name: string
  readonly topic: string
  readonly partition: number
  readonly to: bigint
  /** First offset of a batch without messages that may have been reached by a jump. */
  suspect: bigint | undefined
  #next: bigint
  #shortLooks = 0

  constructor({ part, from, to }: ReplayPart) {
    const slash = part.lastIndexOf('/')
    this.name = part
    this.topic = part.slice(0, slash)
    this.partition = Number(part.slice(slash + 1))
    this.#next = BigInt(from)
    this.to = BigInt(to)
  }

  get next(): bigint {
    return this.#next
  }

  get isOver(): boolean {
    return this.#next >= this.to
  }

  /** Every offset below `next` is read, or has no message. */
  reach(next: bigint): void {
    if (next <= this.#next) return
    this.#next = next > this.to ? this.to : next
    this.suspect = undefined
  }

  /** What of the rest was removed from the log, as text; `undefined`: nothing. */
  lossIn(bounds: LogBounds | undefined): string | undefined {
    if (this.isOver) return undefined
    if (bounds !== undefined && bounds.low > this.#next) {
      return `${this.name} begins at ${bounds.low}, and was to be read from ${this.#next}`
    }
    const isShort = bounds === undefined || bounds.high < this.to
    this.#shortLooks = isShort ? this.#shortLooks + 1 : 0
    if (this.#shortLooks < SHORT_LOOKS) return undefined
    return bounds === undefined
      ? `${this.name} does not exist any more`
      : `${this.name} ends at ${bounds.high}, and was to be read to ${this.to}`
  }
}
