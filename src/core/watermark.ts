/**
 * The lowest unfinished position of one stream of deliveries: one assignment epoch of a Kafka partition, or one channel
 * generation of RabbitMQ. Positions are received in ascending order and finished in any order. Gaps between them
 * (compaction, transaction markers) count as finished, because no message was received there. `N` is what is to be known
 * of each position when it is the last one below the watermark.
 */
export class Watermark<P extends number | bigint, N = undefined> {
  #positions: P[] = []
  #notes: (N | undefined)[] = []
  #finished: boolean[] = []
  /** Entries before this index are finished. */
  #head = 0
  /** Number of entries that were dropped from the front of both arrays. */
  #dropped = 0
  #lastFinished: P | undefined
  #lastNote: N | undefined

  /** Registers a position above all earlier ones. Returns the ticket that finishes it. */
  receive(position: P, note?: N): number {
    const last = this.#positions.at(-1) ?? this.#lastFinished
    if (last !== undefined && position <= last) {
      throw new TypeError(`Watermark: position ${position} does not lie above ${last}`)
    }
    this.#positions.push(position)
    this.#notes.push(note)
    this.#finished.push(false) // mutant: commit-highest
    return this.#dropped + this.#positions.length - 1
  }

  /** Finishes a position. Idempotent. Returns whether the watermark moved. */
  finish(ticket: number): boolean {
    const index = ticket - this.#dropped
    if (index >= this.#positions.length) throw new TypeError(`Watermark: ticket ${ticket} was never given out`)
    if (index < this.#head) return false
    this.#finished[index] = true
    const before = this.#head
    while (this.#finished[this.#head] === true) this.#head++
    if (this.#head === before) return false
    this.#lastFinished = this.#positions[this.#head - 1]
    this.#lastNote = this.#notes[this.#head - 1]
    if (this.#head > 1024 && this.#head * 2 > this.#positions.length) this.#compact()
    return true
  }

  /** The highest position up to which everything is finished, inclusive; `undefined` before the first. */
  get finishedUpTo(): P | undefined {
    return this.#lastFinished
  }

  /** What was noted of `finishedUpTo`. */
  get noteOfFinished(): N | undefined {
    return this.#lastNote
  }

  /** The lowest unfinished position; `undefined` if every received position is finished. */
  get lowestUnfinished(): P | undefined {
    return this.#positions[this.#head]
  }

  /** Number of positions at or above the watermark, finished or not. */
  get open(): number {
    return this.#positions.length - this.#head
  }

  #compact(): void {
    this.#positions = this.#positions.slice(this.#head)
    this.#notes = this.#notes.slice(this.#head)
    this.#finished = this.#finished.slice(this.#head)
    this.#dropped += this.#head
    this.#head = 0
  }
}
