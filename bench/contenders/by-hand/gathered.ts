interface Waiting {
  readonly id: string
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Gathers what comes one by one into batches, by hand: those of one turn of the event loop, or of the time until one is free. */
export class Gathered {
  readonly #size: number
  readonly #atOnce: number
  readonly #handle: (ids: readonly string[]) => Promise<void>
  #waiting: Waiting[] = []
  #running = 0
  #isWoken = false

  /** At most `size` messages in a batch, and `atOnce` batches at the same time. */
  constructor(size: number, atOnce: number, handle: (ids: readonly string[]) => Promise<void>) {
    this.#size = size
    this.#atOnce = atOnce
    this.#handle = handle
  }

  /** Resolves when its batch was handled. */
  add(id: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ id, resolve, reject })
      this.#wake()
    })
  }

  #wake(): void {
    if (this.#isWoken) return
    this.#isWoken = true
    setImmediate(() => {
      this.#isWoken = false
      while (this.#running < this.#atOnce && this.#waiting.length > 0) {
        void this.#run(this.#waiting.splice(0, this.#size))
      }
    })
  }

  async #run(batch: readonly Waiting[]): Promise<void> {
    this.#running++
    try {
      await this.#handle(batch.map(({ id }) => id))
      for (const { resolve } of batch) resolve()
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    this.#running--
    this.#wake()
  }
}
