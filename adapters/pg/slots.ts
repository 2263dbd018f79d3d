/** Counts who may be in at once. Whoever comes in excess waits, first in, first out. */
export class Slots {
  #size: number
  /** Less than none where more are in than there is room for by now. */
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(size: number) {
    this.#size = size
    this.#free = size
  }

  /** Not more than `size` from now on. */
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

/** The slots of a pool or database, shared by every store on it: as many as the one has that needs most beside them. */
export function slotsOf(owner: object, size: number): Slots {
  const known = SLOTS.get(owner)
  known?.narrow(size)
  if (known !== undefined) return known
  const slots = new Slots(size)
  SLOTS.set(owner, slots)
  return slots
}
