/** Below this length it is not worth moving the queue to the front of its array. */
const WORTH_MOVING = 1_024

/** A queue that is cheap at both ends at any length. `Array.shift` would move all remaining items. */
export class Fifo<T> {
  #items: (T | undefined)[] = []
  #head = 0

  get length(): number {
    return this.#items.length - this.#head
  }

  get hasNext(): boolean {
    return this.length > 0
  }

  *[Symbol.iterator](): Generator<T> {
    yield* this.#items.slice(this.#head) as T[]
  }

  get first(): T | undefined {
    return this.#items[this.#head]
  }

  push(item: T): void {
    this.#items.push(item)
  }

  /** Puts the items before all others, in this order. */
  putFront(items: readonly T[]): void {
    if (items.length === 0) return
    this.#items = [...items, ...this.#items.slice(this.#head)]
    this.#head = 0
  }

  shift(): T | undefined {
    if (this.#head === this.#items.length) return undefined
    const item = this.#items[this.#head]
    this.#items[this.#head++] = undefined
    if (this.#head === this.#items.length) {
      this.#items.length = this.#head = 0
    } else if (this.#head > WORTH_MOVING && this.#head * 2 > this.#items.length) {
      this.#items.splice(0, this.#head)
      this.#head = 0
    }
    return item
  }

  /** Removes and returns all items for which `which` is true. */
  remove(which: (item: T) => boolean): T[] {
    const removed: T[] = []
    const kept: T[] = []
    for (const item of this.#items.slice(this.#head) as T[]) (which(item) ? removed : kept).push(item)
    if (removed.length > 0) {
      this.#items = kept
      this.#head = 0
    }
    return removed
  }
}
