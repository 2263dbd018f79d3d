/** A semaphore. Callers beyond its size wait, first in, first out. */
export class Slots {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(size: number) {
    this.#free = size
  }

  take(): Promise<void> {
    if (this.#free > 0) {
      this.#free--
      return Promise.resolve()
    }
    return new Promise((resolve) => void this.#waiting.push(resolve))
  }

  give(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free++
    else next()
  }
}

const SLOTS = new WeakMap<object, Slots>()

/** Concurrency limit shared by all stores on one pool. The first store decides its size. */
export function slotsOf(owner: object, size: number): Slots {
  const known = SLOTS.get(owner)
  if (known !== undefined) return known
  const slots = new Slots(size)
  SLOTS.set(owner, slots)
  return slots
}
