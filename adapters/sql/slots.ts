/** A semaphore. Callers beyond its size wait, first in, first out. */
export class Slots {
  #size: number
  /** Negative after `narrow`, until enough slots are given back. */
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(size: number) {
    this.#size = size
    this.#free = size
  }

  /** Reduces the number of slots to at most `size`. */
  narrow(size: number): void {
    if (size >= this.#size) return
    this.#free -= this.#size - size
    this.#size = size
  }

  take(): Promise<void> {
    if (this.#free > 0) {
      this.#free--
      return Promise.resolve()
    }
    return new Promise((resolve) => void this.#waiting.push(resolve))
  }

  give(): void {
    const next = this.#free < 0 ? undefined : this.#waiting.shift()
    if (next === undefined) this.#free++
    else next()
  }
}

const SLOTS = new WeakMap<object, Slots>()

/** Concurrency limit shared by all stores on one pool or database; the smallest limit wins. */
export function slotsOf(owner: object, size: number): Slots {
  const known = SLOTS.get(owner)
  known?.narrow(size)
  if (known !== undefined) return known
  const slots = new Slots(size)
  SLOTS.set(owner, slots)
  return slots
}
