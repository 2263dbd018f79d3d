/** Short of this a queue is not worth moving to the front of its array. */
const WORTH_MOVING = 1_024

/** A queue that is cheap at both ends, however long: `Array.shift` moves all that is behind. */
export class Fifo<T> {
  #items: (T | undefined)[] = []
  #head = 0

  get length(): number {
    return this.#items.length - this.#head
  }

  get first(): T | undefined {
    return this.#items[this.#head]
  }

  push(item: T): void {
    this.#items.push(item)
  }

  /** In this order, before all others. */
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

  /** Takes out all that `which` names, and returns them. */
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
