/** Messages in flight at once. */
export const MOST_UNCONFIRMED = 1000
const MOST_WAITING = 10_000

/** Limits how many callers may be inside; the others wait in order. */
export class Semaphore {
  readonly #line = new Set<() => void>()
  #inside = 0
  #isOpen = false

  get isFull(): boolean {
    return this.#inside >= MOST_UNCONFIRMED
  }

  /** Resolves `true` when a slot is free or `leaves` aborts (check it); `false` at once when the queue is full. */
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

  /** Lets all callers in: nobody waits from now on. */
  open(): void {
    this.#isOpen = true
    for (const next of this.#line) next()
  }
}
