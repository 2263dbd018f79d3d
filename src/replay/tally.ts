import { hash } from 'node:crypto'
import { BUCKETS, type Bucket } from '../core/replay.ts'
import type { EpochMs } from '../core/units.ts'
import { HistogramCounter, type Histogram } from './histogram.ts'

const SAMPLES = 5
const MOST_GROUPS = 100_000

/** A message in a plan, for people: no payload, and no raw ID. */
export interface Sample {
  readonly part: string
  readonly position: string
  readonly key: string | undefined
  readonly at: EpochMs | undefined
  /** Why it is in its bucket, if the record or the message tells. */
  readonly detail: string | undefined
}

export interface BucketCount {
  readonly count: number
  readonly samples: readonly Sample[]
}

/** Different values of a field. `isAtLeast`: counting stopped at 100,000. `without`: messages without the field. */
export interface Distinct {
  readonly field: string
  readonly count: number
  readonly isAtLeast: boolean
  readonly without: number
}

export type Counts = Readonly<Record<Bucket, BucketCount>>

/** What a plan found, bucket by bucket, in bounded memory. */
export class Tally {
  readonly #counts = new Map<Bucket, { count: number; samples: Sample[] }>()
  readonly histogram: HistogramCounter<Bucket> = new HistogramCounter()

  add(bucket: Bucket, sample: Sample): void {
    const of = this.#of(bucket)
    of.count++
    if (of.samples.length < SAMPLES) of.samples.push(sample)
    this.histogram.add(bucket, sample.at)
  }

  /** Adds all messages of another one to one bucket. */
  addAll(other: Tally, bucket: Bucket): void {
    const of = this.#of(bucket)
    for (const { count, samples } of other.#counts.values()) {
      of.count += count
      of.samples.push(...samples.slice(0, SAMPLES - of.samples.length))
    }
    this.histogram.addAll(other.histogram, bucket)
  }

  /** Adds the counts of another one, bucket by bucket. */
  merge(other: Tally): void {
    for (const [bucket, { count, samples }] of other.#counts) {
      const of = this.#of(bucket)
      of.count += count
      of.samples.push(...samples.slice(0, SAMPLES - of.samples.length))
    }
    this.histogram.merge(other.histogram)
  }

  count(bucket: Bucket): number {
    return this.#counts.get(bucket)?.count ?? 0
  }

  toJSON(): { readonly buckets: Counts; readonly histogram: Histogram<Bucket> } {
    const buckets = BUCKETS.map((bucket) => [bucket, this.#counts.get(bucket) ?? { count: 0, samples: [] }] as const)
    return { buckets: Object.fromEntries(buckets) as unknown as Counts, histogram: this.histogram.toJSON() }
  }

  #of(bucket: Bucket): { count: number; samples: Sample[] } {
    const known = this.#counts.get(bucket)
    if (known !== undefined) return known
    const made = { count: 0, samples: [] }
    this.#counts.set(bucket, made)
    return made
  }
}

/** Counts the different values of a field. Keeps 48 bits of a hash of each, not the value. */
export class DistinctCounter {
  readonly #seen = new Set<number>()
  #isFull = false
  #without = 0

  /** @param value - `undefined`: the message has no such field */
  add(value: string | undefined): void {
    if (value === undefined) this.#without++
    if (value === undefined || this.#isFull) return
    const digest = hash('sha1', value, 'hex')
    this.#seen.add(Number.parseInt(digest.slice(0, 12), 16))
    this.#isFull = this.#seen.size >= MOST_GROUPS
  }

  toJSON(field: string): Distinct {
    return { field, count: this.#seen.size, isAtLeast: this.#isFull, without: this.#without }
  }
}
