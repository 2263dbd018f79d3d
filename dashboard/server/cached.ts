import type { Clock } from '../../src/ports/clock.ts'
import { dropOldest } from './bounded.ts'

interface Entry<T> {
  readonly value: Promise<T>
  /** Set when it is known. */
  goodUntil: number
}

const MOST = 500
/** What took long is asked again later: it takes at most this part of the time of a server. */
const SHARE = 20

/** Remembers expensive answers for a while. Several who ask at once share one answer. An error is not remembered. */
export class Cached<T> {
  readonly #entries = new Map<string, Entry<T>>()
  readonly #forMs: number
  readonly #clock: Clock

  constructor(forMs: number, clock: Clock) {
    this.#forMs = forMs
    this.#clock = clock
  }

  get(key: string, ask: () => Promise<T>): Promise<T> {
    const known = this.#entries.get(key)
    if (known !== undefined && this.#clock.monotonic() < known.goodUntil) return known.value
    const begun = this.#clock.monotonic()
    const entry: Entry<T> = { value: ask(), goodUntil: Number.POSITIVE_INFINITY }
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    dropOldest(this.#entries, MOST)
    void this.#settle(key, entry, begun)
    return entry.value
  }

  clear(): void {
    this.#entries.clear()
  }

  async #settle(key: string, entry: Entry<T>, begun: number): Promise<void> {
    try {
      await entry.value
      const now = this.#clock.monotonic()
      entry.goodUntil = now + Math.max(this.#forMs, (now - begun) * SHARE)
    } catch {
      if (this.#entries.get(key) === entry) this.#entries.delete(key)
    }
  }
}
