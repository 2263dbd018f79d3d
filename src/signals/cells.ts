import { COUNTERS, HISTOGRAMS, idsOf, type CounterId, type HistogramId } from './metrics.ts'
import { counts, distributions, record, type Count, type Distribution, type Series } from './series.ts'

/** The numbers of all counters and histograms. What was found once stays: a reset makes it 0. */
export class Cells {
  readonly counters: { readonly [Id in CounterId]: Series<Count> }
  readonly histograms: { readonly [Id in HistogramId]: Series<Distribution> }

  constructor() {
    this.counters = Object.fromEntries(idsOf(COUNTERS).map((id) => [id, counts(COUNTERS[id])])) as never
    this.histograms = Object.fromEntries(idsOf(HISTOGRAMS).map((id) => [id, distributions(HISTOGRAMS[id])])) as never
  }

  count(metric: CounterId, labels: readonly string[], by = 1): void {
    this.counters[metric].at(labels).value += by
  }

  observed(metric: HistogramId, labels: readonly string[], value: number): void {
    this.record(metric, this.histograms[metric].at(labels), value)
  }

  record(metric: HistogramId, distribution: Distribution, value: number): void {
    record(distribution, HISTOGRAMS[metric].buckets, value)
  }

  reset(metric: CounterId | HistogramId): void {
    if (metric in this.counters) for (const count of this.counters[metric as CounterId].all) count.value = 0
    if (!(metric in this.histograms)) return
    for (const distribution of this.histograms[metric as HistogramId].all) {
      distribution.buckets.fill(0)
      distribution.sum = 0
    }
  }
}
