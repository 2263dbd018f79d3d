/** What is kept of: beyond it the oldest are forgotten, and counted anew. */
const MOST_KEYS = 10_000

/**
 * How often in a row an attempt of a key is given back: with backoff far more than transactions that contend for a row need, and an
 * end for a handler that always loses by what it does itself.
 */
const MOST_LOSSES = 20

/**
 * How often in a row the transactions of keys were lost without a fault of their handlers: chosen to lose against another
 * transaction, or with their backend. Attempts that are given back count nowhere else. Of this process, while it lives.
 */
export class Losses {
  readonly #times = new Map<string, number>()

  /** One more of each. Returns the highest; `undefined` above the most: from then on an attempt is an attempt. */
  add(keys: Iterable<string>): number | undefined {
    let most = 0
    for (const key of keys) {
      const times = (this.#times.get(key) ?? 0) + 1
      this.#times.delete(key)
      this.#times.set(key, times)
      most = Math.max(most, times)
    }
    for (const key of this.#times.keys()) {
      if (this.#times.size <= MOST_KEYS) break
      this.#times.delete(key)
    }
    return most > MOST_LOSSES ? undefined : most
  }

  /** They are marked, or set aside. */
  forget(keys: Iterable<string>): void {
    if (this.#times.size === 0) return
    for (const key of keys) this.#times.delete(key)
  }
}
