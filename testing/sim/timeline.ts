/** A callback at a time, unless it is cancelled before. */
export interface Moment {
  readonly at: number
  readonly order: number
  run: (() => void) | undefined
}

/** Virtual time. It moves from one moment to the next; moments at the same time run in the order of their requests. */
export class Timeline {
  #now = 0
  #asked = 0
  /** A binary heap, the earliest on top. */
  readonly #moments: Moment[] = []

  /** Milliseconds since the start. */
  get now(): number {
    return this.#now
  }

  after(delayMs: number, run: () => void): Moment {
    const moment: Moment = { at: this.#now + Math.max(0, delayMs), order: this.#asked++, run }
    this.#push(moment)
    return moment
  }

  /** Moves to the earliest moment and runs it. `false`: there is none. */
  next(): boolean {
    for (let moment = this.#pop(); moment !== undefined; moment = this.#pop()) {
      if (moment.run === undefined) continue
      this.#now = moment.at
      moment.run()
      return true
    }
    return false
  }

  #push(moment: Moment): void {
    const heap = this.#moments
    let at = heap.length
    heap.push(moment)
    while (at > 0) {
      const parent = (at - 1) >> 1
      const above = heap[parent]
      if (above === undefined || isBefore(above, moment)) break
      heap[at] = above
      at = parent
    }
    heap[at] = moment
  }

  #pop(): Moment | undefined {
    const heap = this.#moments
    const top = heap[0]
    const last = heap.pop()
    if (top === undefined || last === undefined || heap.length === 0) return top
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      let least = heap[child]
      if (least === undefined) break
      const right = heap[child + 1]
      if (right !== undefined && isBefore(right, least)) {
        child++
        least = right
      }
      if (isBefore(last, least)) break
      heap[at] = least
      at = child
    }
    heap[at] = last
    return top
  }
}

function isBefore(one: Moment, other: Moment): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order)
}
