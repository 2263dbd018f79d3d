import {
  checkNames,
  ConfigError,
  COUNTERS,
  GAUGES,
  givenOf,
  HISTOGRAMS,
  idsOf,
  Meter,
  type Distribution,
  type HistogramMetric,
  type Labels,
  type Metric,
  type Observer,
} from '../../src/spi.ts'
import { attributesOfLabels, type LabelAttributes } from './labels.ts'

export interface OtelMetricProducerOptions {
  /**
   * Reads `consume_once.parked.messages`, `consume_once.given_up.messages`, `consume_once.held_partitions` and
   * `consume_once.purge.horizon` from the stores, as `otelMetrics` does.
   * @defaultValue true
   */
  readonly readStores?: boolean
}

/** A `MetricProducer` of `@opentelemetry/sdk-metrics`: give it to the `metricProducers` of a reader. */
export interface OtelMetricProducer {
  /** For `observe` of any number of consumers. */
  readonly observe: Observer
  /** Called by the reader. Resolves with a `CollectionResult` of the SDK, whose types are not imported here. Never rejects. */
  collect(): Promise<never>
}

/**
 * Counts as `otelMetrics` does, under the same names, and hands finished numbers to a reader of the OpenTelemetry SDK
 * when it collects: a message costs a few additions, and nothing of the API.
 *
 * `const metrics = otelMetricProducer()`, then `new PeriodicExportingMetricReader({ exporter, metricProducers: [metrics] })`
 * and `defineConsumer({ ..., observe: metrics.observe })`.
 *
 * Sums are cumulative, and views of the SDK do not apply. For a reader that wants deltas, use `otelMetrics`.
 *
 * @throws ConfigError `CONFIG_INVALID`
 */
export function otelMetricProducer(options: OtelMetricProducerOptions = {}): OtelMetricProducer {
  const { readStores = true } = checked(options)
  const meter = new Meter({ readStores })
  const since = hrTime(Date.now())
  return {
    observe: meter.observe,
    async collect() {
      const readings = await meter.gauges()
      const time = { startTime: since, endTime: hrTime(Date.now()) }
      const counters = idsOf(COUNTERS).map((id) => {
        const dataPoints = meter.counter(id).map((count) => ({ ...time, ...pointOf(count) }))
        return { ...commonOf(COUNTERS[id]), dataPointType: SUM, isMonotonic: true, dataPoints }
      })
      const histograms = idsOf(HISTOGRAMS).map((id) => {
        const dataPoints = meter.histogram(id).map((one) => ({ ...time, ...histogramOf(HISTOGRAMS[id], one) }))
        return { ...commonOf(HISTOGRAMS[id]), dataPointType: HISTOGRAM, dataPoints }
      })
      const gauges = idsOf(GAUGES).map((id) => {
        const dataPoints = readings[id].map((reading) => ({ ...time, ...pointOf(reading) }))
        return { ...commonOf(GAUGES[id]), dataPointType: GAUGE, dataPoints }
      })
      const metrics = [...counters, ...histograms, ...gauges].filter(({ dataPoints }) => dataPoints.length > 0)
      // The reader has a resource of its own, and takes that.
      const resourceMetrics = { resource: undefined, scopeMetrics: [{ scope: { name: 'consume-once' }, metrics }] }
      return { resourceMetrics, errors: [] } as never
    },
  }
}

/** Members of enums of the SDK: `DataPointType`, `AggregationTemporality` and `ValueType`. */
const HISTOGRAM = 0
const GAUGE = 2
const SUM = 3
const CUMULATIVE = 1
const DOUBLE = 1

/** Seconds, and nanoseconds. */
type HrTime = readonly [number, number]

function hrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1_000)
  return [seconds, (ms - seconds * 1_000) * 1_000_000]
}

function commonOf({ otel: name, help: description, unit }: Metric): object {
  return { descriptor: { name, description, unit, valueType: DOUBLE }, aggregationTemporality: CUMULATIVE }
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

const KNOWN: Record<keyof OtelMetricProducerOptions, true> = { readStores: true }

function checked(options: OtelMetricProducerOptions): OtelMetricProducerOptions {
  const given = givenOf(options)
  const problems: string[] = []
  checkNames('otelMetricProducer: ', given, { of: 'otelMetricProducer()', known: KNOWN }, problems)
  const { readStores } = given
  if (readStores !== undefined && typeof readStores !== 'boolean') {
    problems.push(`otelMetricProducer: readStores: expected true or false, got ${typeof readStores}`)
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return given
}
