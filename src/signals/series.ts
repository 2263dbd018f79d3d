import type { HistogramMetric, Metric } from './metrics.ts'

export type Labels = Readonly<Record<string, string>>

/** A counter of one combination of label values. */
export interface Count {
  readonly labels: Labels
  value: number
}

/** A histogram of one combination of label values. */
export interface Distribution {
  readonly labels: Labels
  /** Observations in each bucket alone, not cumulative; the last bucket has no upper bound. */
  readonly buckets: number[]
  sum: number
}

/** The values of one metric by their labels. A look-up allocates nothing: the values of labels are a path of maps. */
export class Series<T> {
  readonly #names: readonly string[]
  readonly #make: (labels: Labels) => T
  readonly #root: Branch = new Map()
  readonly #all: T[] = []

  constructor({ labels }: Metric, make: (labels: Labels) => T) {
    this.#names = labels
    this.#make = make
  }

  get all(): readonly T[] {
    return this.#all
  }

  /** `values` in the order of the metric's labels, one for each. */
  at(values: readonly string[]): T {
    let branch = this.#root
    const last = values.length - 1
    for (let at = 0; at < last; at++) {
      const value = values[at] ?? ''
      let next = branch.get(value) as Branch | undefined
      if (next === undefined) branch.set(value, (next = new Map()))
      branch = next
    }
    const value = values[last] ?? ''
    return (branch.get(value) as T | undefined) ?? this.#add(branch, value, values)
  }

  #add(branch: Branch, value: string, values: readonly string[]): T {
    const made = this.#make(Object.fromEntries(this.#names.map((name, at) => [name, values[at] ?? ''])))
    branch.set(value, made)
    this.#all.push(made)
    return made
  }
}

/** Branches, and on the last level what the path leads to. */
type Branch = Map<string, unknown>

export function counts(metric: Metric): Series<Count> {
  return new Series(metric, (labels) => ({ labels, value: 0 }))
}

export function distributions(metric: HistogramMetric): Series<Distribution> {
  const size = metric.buckets.length + 1
  return new Series(metric, (labels) => ({ labels, buckets: Array.from({ length: size }, () => 0), sum: 0 }))
}

export function record(distribution: Distribution, bounds: readonly number[], value: number): void {
  let at = 0
  while (at < bounds.length && value > (bounds[at] ?? 0)) at++
  distribution.buckets[at] = (distribution.buckets[at] ?? 0) + 1
  distribution.sum += value
}
