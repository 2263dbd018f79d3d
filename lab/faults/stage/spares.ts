/** Pool of servers for faults: one cell uses a server at a time. Servers start on demand, at most `most` of them. */
export class Spares<T extends AsyncDisposable> implements AsyncDisposable {
  readonly #most: number
  readonly #start: () => Promise<T>
  readonly #started: Promise<T>[] = []
  readonly #free: Promise<T>[] = []
  readonly #waiting: ((spare: Promise<T>) => void)[] = []

  constructor(most: number, start: () => Promise<T>) {
    this.#most = most
    this.#start = start
  }

  /** The server returns to the pool as it is: whoever injects a fault heals it. */
  async lend<R>(use: (spare: T) => Promise<R>): Promise<R> {
    const spare = this.#free.pop() ?? this.#startAnother() ?? this.#untilFree()
    const lent = await spare
    try {
      return await use(lent)
    } finally {
      this.#giveBack(Promise.resolve(lent))
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const started = await Promise.allSettled(this.#started)
    for (const result of started) if (result.status === 'fulfilled') await result.value[Symbol.asyncDispose]()
  }

  #startAnother(): Promise<T> | undefined {
    if (this.#started.length === this.#most) return undefined
    const starting = this.#start()
    this.#started.push(starting)
    return starting
  }

  #untilFree(): Promise<T> {
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  #giveBack(spare: Promise<T>): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free.push(spare)
    else next(spare)
  }
}
