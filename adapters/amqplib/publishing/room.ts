/** Messages on their way at once. */
export const MOST_UNCONFIRMED = 1000
const MOST_WAITING = 10_000

/** Lets so many in at once; the others wait in line. */
export class Room {
  readonly #line = new Set<() => void>()
  #inside = 0
  #isOpen = false

  get isFull(): boolean {
    return this.#inside >= MOST_UNCONFIRMED
  }

  /** Resolves when there is room, or when `leaves` aborts: who got in must look. `false`, at once: the line is full too. */
  async enter(leaves: AbortSignal): Promise<boolean> {
    if (this.#line.size >= MOST_WAITING) return false
    if (this.isFull && !this.#isOpen && !leaves.aborted) {
      await new Promise<void>((resolve) => {
        const goOn = (): void => {
          this.#line.delete(goOn)
          leaves.removeEventListener('abort', goOn)
          this.#inside++
          resolve()
        }
        this.#line.add(goOn)
        leaves.addEventListener('abort', goOn)
      })
    } else this.#inside++
    return true
  }

  leave(): void {
    this.#inside--
    if (this.isFull) return
    const [next] = this.#line
    next?.()
  }

  /** Nobody waits any more. */
  open(): void {
    this.#isOpen = true
    for (const next of this.#line) next()
  }
}
