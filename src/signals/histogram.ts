import type { DurationMs } from '../core/units.ts'
import type { LiveMeasure } from './live-snapshot.ts'

/** Buckets grow by 2^(1/4), from 0.1 ms to 3 years. */
const LOWEST_MS = 0.1
const PER_DOUBLING = 4
const BUCKETS = 160

/** How often values fell into buckets of equal ratio: quantiles within 10 %, in 640 bytes. */
export class Histogram {
  readonly #buckets = new Uint32Array(BUCKETS)
  #count = 0
  #max = 0

  get count(): number {
    return this.#count
  }

  add(ms: DurationMs): void {
    const bucket = ms <= LOWEST_MS ? 0 : Math.ceil(Math.log2(ms / LOWEST_MS) * PER_DOUBLING)
    const at = Math.min(bucket, BUCKETS - 1)
    this.#buckets[at] = (this.#buckets[at] ?? 0) + 1
    this.#count++
    if (ms > this.#max) this.#max = ms
  }

  merge(other: Histogram): void {
    for (let at = 0; at < BUCKETS; at++) this.#buckets[at] = (this.#buckets[at] ?? 0) + (other.#buckets[at] ?? 0)
    this.#count += other.#count
    this.#max = Math.max(this.#max, other.#max)
  }

  /** @param share - 0.5 for the median. `undefined`: there is no value */
  quantile(share: number): DurationMs | undefined {
    if (this.#count === 0) return undefined
    let left = Math.ceil(this.#count * share)
    for (let at = 0; at < BUCKETS; at++) {
      left -= this.#buckets[at] ?? 0
      if (left <= 0) return Math.min(this.#max, rounded(middleOf(at)))
    }
    return this.#max
  }

  toJSON(): LiveMeasure {
    return {
      count: this.#count,
      p50Ms: this.quantile(0.5),
      p99Ms: this.quantile(0.99),
      maxMs: this.#count === 0 ? undefined : this.#max,
    }
  }
}

function middleOf(bucket: number): DurationMs {
  return LOWEST_MS * 2 ** ((bucket - 0.5) / PER_DOUBLING)
}

/** Three digits are more than a bucket knows, and short in JSON. */
function rounded(ms: DurationMs): DurationMs {
  return Number(ms.toPrecision(3))
}
