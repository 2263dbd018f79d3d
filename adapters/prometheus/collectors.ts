import {
  COUNTERS,
  GAUGES,
  HISTOGRAMS,
  idsOf,
  type Distribution,
  type GaugeMetric,
  type HistogramMetric,
  type Labels,
  type Meter,
  type Metric,
} from '../../src/internal.ts'

/** A line of a scrape. */
interface Sample {
  readonly metricName?: string
  readonly labels: Record<string, string | number>
  readonly value: number
}

/** A metric as prom-client keeps it in a registry. */
export interface Collector {
  /** Its name in the registry. */
  readonly key: string
  /** For OpenMetrics prom-client takes `_total` off the name of a counter, here. */
  name: string
  readonly help: string
  readonly type: Metric['kind']
  /** How prom-client merges the processes of a cluster. */
  readonly aggregator: GaugeMetric['merge']
  get(): Promise<{
    readonly name: string
    readonly help: string
    readonly type: Metric['kind']
    readonly aggregator: string
    readonly values: Sample[]
  }>
  /** Called by `registry.resetMetrics()`. */
  reset(): void
}

/** All metrics of the table, which read the meter whenever they are scraped. */
export function collectors(meter: Meter): readonly Collector[] {
  return [
    ...idsOf(COUNTERS).map((id) =>
      collector(COUNTERS[id], 'sum', { read: () => meter.counter(id).map(copyOf), reset: () => meter.reset(id) }),
    ),
    ...idsOf(HISTOGRAMS).map((id) => {
      const read = (): Sample[] => meter.histogram(id).flatMap((one) => linesOf(HISTOGRAMS[id], one))
      return collector(HISTOGRAMS[id], 'sum', { read, reset: () => meter.reset(id) })
    }),
    ...idsOf(GAUGES).map((id) => {
      const read = async (): Promise<Sample[]> => (await meter.gauges())[id].map(copyOf)
      return collector(GAUGES[id], GAUGES[id].merge, { read, reset: () => {} })
    }),
  ]
}

interface Reader {
  readonly read: () => Sample[] | Promise<Sample[]>
  readonly reset: () => void
}

function collector(metric: Metric, aggregator: GaugeMetric['merge'], { read, reset }: Reader): Collector {
  const { name: key, help, kind: type } = metric
  return {
    key,
    name: key,
    help,
    type,
    aggregator,
    async get() {
      return { name: this.name, help, type, aggregator, values: await read() }
    },
    reset,
  }
}

/** prom-client adds the registry's own labels to what it gets. */
function copyOf({ labels, value }: { readonly labels: Labels; readonly value: number }): Sample {
  return { labels: withoutEmpty(labels), value }
}

function linesOf({ name, buckets: bounds }: HistogramMetric, { labels, buckets, sum }: Distribution): Sample[] {
  const given = withoutEmpty(labels)
  let count = 0
  const lines = buckets.map((observed, at): Sample => {
    count += observed
    return { metricName: `${name}_bucket`, labels: { le: bounds[at] ?? '+Inf', ...given }, value: count }
  })
  return [
    ...lines,
    { metricName: `${name}_sum`, labels: given, value: sum },
    { metricName: `${name}_count`, labels: { ...given }, value: count },
  ]
}

/** To Prometheus a label without a value is a label that is not there. */
function withoutEmpty(labels: Labels): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).filter(([, value]) => value !== ''))
}
