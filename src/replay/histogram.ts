import type { EpochMs } from '../core/units.ts'

const MOST_BINS = 96
const FINEST_MS = 60_000

/** How many messages of a bucket came in each stretch of time. */
export interface Histogram<Name extends string> {
  /** Length of a bin, in milliseconds. */
  readonly binMs: number
  readonly bins: readonly { readonly at: EpochMs; readonly counts: Readonly<Partial<Record<Name, number>>> }[]
  /** Messages without a timestamp. */
  readonly undated: number
}

/** Counts with bins that become longer as the range grows, so that memory is bounded. */
export class HistogramCounter<Name extends string> {
  #binMs = FINEST_MS
  #bins = new Map<number, Map<Name, number>>()
  #undated = 0

  add(name: Name, at: EpochMs | undefined, count = 1): void {
    if (at === undefined) this.#undated += count
    else this.#addTo(Math.floor(at / this.#binMs), name, count)
    while (this.#bins.size > MOST_BINS) this.#widen()
  }

  /** Adds all counts of another one, under one name. */
  addAll(other: HistogramCounter<Name>, name: Name): void {
    this.#undated += other.#undated
    for (const [bin, counts] of other.#bins) {
      for (const count of counts.values()) this.add(name, bin * other.#binMs, count)
    }
  }

  merge(other: HistogramCounter<Name>): void {
    this.#undated += other.#undated
    for (const [bin, counts] of other.#bins) {
      for (const [name, count] of counts) this.add(name, bin * other.#binMs, count)
    }
  }

  toJSON(): Histogram<Name> {
    const bins = [...this.#bins].toSorted(([a], [b]) => a - b)
    return {
      binMs: this.#binMs,
      bins: bins.map(([bin, counts]) => ({
        at: bin * this.#binMs,
        counts: Object.fromEntries(counts) as Partial<Record<Name, number>>,
      })),
      undated: this.#undated,
    }
  }

  #addTo(bin: number, name: Name, count: number): void {
    const counts = this.#bins.get(bin) ?? new Map<Name, number>()
    counts.set(name, (counts.get(name) ?? 0) + count)
    this.#bins.set(bin, counts)
  }

  #widen(): void {
    const narrow = this.#bins
    this.#bins = new Map()
    this.#binMs *= 2
    for (const [bin, counts] of narrow) {
      for (const [name, count] of counts) this.#addTo(Math.floor(bin / 2), name, count)
    }
  }
}
