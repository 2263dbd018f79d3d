/** Number of keys that are remembered. Beyond it the oldest are forgotten and counted from zero. */
const MOST_KEYS = 10_000

/**
 * How often in a row an attempt of a key is given back. With backoff, transactions that contend for a row need far
 * fewer. The limit ends a handler that always loses because of what it does itself.
 */
const MOST_LOSSES = 20

/**
 * Counts how often in a row transactions were lost through no fault of their handlers: as a deadlock victim, or with
 * their backend. Attempts that are given back are counted nowhere else. The counts belong to this process.
 */
export class Losses {
  readonly #times = new Map<string, number>()

  /**
   * Adds one loss to each key. Returns the highest count, or `undefined` above the limit: from then on the attempt
   * counts.
   */
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

  /** Called when the keys are marked or set aside. */
  forget(keys: Iterable<string>): void {
    if (this.#times.size === 0) return
    for (const key of keys) this.#times.delete(key)
  }
}
