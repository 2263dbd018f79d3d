import {
  COUNTERS,
  GAUGES,
  HISTOGRAMS,
  idsOf,
  Meter,
  oneOf,
  optionsOf,
  or,
  READ_STORES,
  type Count,
  type Distribution,
  type HistogramMetric,
  type Labels,
  type Metric,
  type Observer,
  type Table,
} from '../../src/internal.ts'
import { attributesOfLabels, type LabelAttributes } from './labels.ts'

export interface OtelMetricProducerOptions {
  /**
   * Reads `consume_once.parked.messages`, `consume_once.given_up.messages`, `consume_once.held_partitions` and
   * `consume_once.purge.horizon` from the stores. A store is asked when metrics are collected, at most every 15 s, and
   * less often if its answer takes long: never for more than about 1 % of the time. On Redis a count looks at every key
   * of the database.
   * @defaultValue true
   */
  readonly readStores?: boolean
  /**
   * What a sum and a histogram count: everything since the start, or what came since the last collection. A producer of
   * deltas serves one reader.
   * @defaultValue 'cumulative'
   */
  readonly temporality?: 'cumulative' | 'delta'
}

/** A `MetricProducer` of `@opentelemetry/sdk-metrics`: give it to the `metricProducers` of a reader. */
export interface OtelMetricProducer {
  /** For `observe` of any number of consumers. */
  readonly observe: Observer
  /** Called by the reader. Resolves with a `CollectionResult` of the SDK, whose types are not imported here. Never rejects. */
  collect(): Promise<never>
}

/**
 * Counts the metrics of the library (docs/observability.md), and hands finished numbers to a reader of the OpenTelemetry
 * SDK when it collects: a message costs a few additions, and nothing of the API.
 *
 * `const metrics = otelMetricProducer()`, then `new PeriodicExportingMetricReader({ exporter, metricProducers: [metrics] })`
 * and `defineConsumer({ ..., observe: metrics.observe })`.
 *
 * Views of the SDK do not apply.
 *
 * @throws ConfigError `CONFIG_INVALID`
 */
export function otelMetricProducer(options: OtelMetricProducerOptions = {}): OtelMetricProducer {
  const { readStores, temporality } = optionsOf('otelMetricProducer', METRIC_PRODUCER, options)
  const meter = new Meter({ readStores })
  const deltas = temporality === 'delta' ? new Deltas() : undefined
  const aggregationTemporality = deltas === undefined ? CUMULATIVE : DELTA
  let since = hrTime(Date.now())
  return {
    observe: meter.observe,
    async collect() {
      const readings = await meter.gauges()
      const time = { startTime: since, endTime: hrTime(Date.now()) }
      if (deltas !== undefined) since = time.endTime
      const counters = idsOf(COUNTERS).map((id) => {
        const counts = deltas?.counts(meter.counter(id)) ?? meter.counter(id)
        const dataPoints = counts.map((count) => ({ ...time, ...pointOf(count) }))
        const common = { ...commonOf(COUNTERS[id]), aggregationTemporality }
        return { ...common, dataPointType: SUM, isMonotonic: true, dataPoints }
      })
      const histograms = idsOf(HISTOGRAMS).map((id) => {
        const found = deltas?.distributions(meter.histogram(id)) ?? meter.histogram(id)
        const dataPoints = found.map((one) => ({ ...time, ...histogramOf(HISTOGRAMS[id], one) }))
        return { ...commonOf(HISTOGRAMS[id]), aggregationTemporality, dataPointType: HISTOGRAM, dataPoints }
      })
      const gauges = idsOf(GAUGES).map((id) => {
        const dataPoints = readings[id].map((reading) => ({ ...time, ...pointOf(reading) }))
        return { ...commonOf(GAUGES[id]), aggregationTemporality, dataPointType: GAUGE, dataPoints }
      })
      const metrics = [...counters, ...histograms, ...gauges].filter(({ dataPoints }) => dataPoints.length > 0)
      // The reader has a resource of its own, and takes that.
      const resourceMetrics = { resource: undefined, scopeMetrics: [{ scope: { name: 'consume-once' }, metrics }] }
      return { resourceMetrics, errors: [] } as never
    },
  }
}

/** What was added since the last look; nothing where that is nothing. */
class Deltas {
  /** Totals at the last look, by their labels, which are the same object each time. */
  readonly #counts = new Map<Labels, number>()
  readonly #distributions = new Map<Labels, Distribution>()

  counts(totals: readonly Count[]): readonly Count[] {
    return totals.flatMap(({ labels, value }) => {
      const added = value - (this.#counts.get(labels) ?? 0)
      this.#counts.set(labels, value)
      return added === 0 ? [] : [{ labels, value: added }]
    })
  }

  distributions(totals: readonly Distribution[]): readonly Distribution[] {
    return totals.flatMap(({ labels, buckets, sum }) => {
      const before = this.#distributions.get(labels)
      const added = buckets.map((count, at) => count - (before?.buckets[at] ?? 0))
      this.#distributions.set(labels, { labels, buckets: [...buckets], sum })
      return added.every((count) => count === 0) ? [] : [{ labels, buckets: added, sum: sum - (before?.sum ?? 0) }]
    })
  }
}

/** Members of enums of the SDK: `DataPointType`, `AggregationTemporality` and `ValueType`. */
const HISTOGRAM = 0
const GAUGE = 2
const SUM = 3
const DELTA = 0
const CUMULATIVE = 1
const DOUBLE = 1

/** Seconds, and nanoseconds. */
type HrTime = readonly [number, number]

function hrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1_000)
  return [seconds, (ms - seconds * 1_000) * 1_000_000]
}

function commonOf({ otel: name, help: description, unit }: Metric): object {
  return { descriptor: { name, description, unit, valueType: DOUBLE } }
}

interface Point<Value> {
  readonly attributes: LabelAttributes
  readonly value: Value
}

function pointOf({ labels, value }: { readonly labels: Labels; readonly value: number }): Point<number> {
  return { attributes: attributesOfLabels(labels), value }
}

function histogramOf({ buckets: boundaries }: HistogramMetric, { labels, buckets, sum }: Distribution): Point<object> {
  const count = buckets.reduce((total, one) => total + one, 0)
  return {
    attributes: attributesOfLabels(labels),
    value: { buckets: { boundaries: [...boundaries], counts: [...buckets] }, sum, count },
  }
}

const METRIC_PRODUCER: Table<OtelMetricProducerOptions> = {
  readStores: READ_STORES,
  temporality: or('cumulative', oneOf('cumulative', 'delta')),
}
