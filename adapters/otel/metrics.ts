import {
  checkNames,
  ConfigError,
  COUNTERS,
  GAUGES,
  givenOf,
  HISTOGRAMS,
  idsOf,
  Meter,
  type HistogramId,
  type Labels,
  type Metric,
  type Observer,
} from '../../src/spi.ts'
import { attributesOfLabels, type LabelAttributes } from './labels.ts'

interface InstrumentOptions {
  readonly description: string
  readonly unit: string
  readonly advice?: { explicitBucketBoundaries: number[] }
}

interface HistogramLike {
  record(value: number, attributes: LabelAttributes): void
}

interface ResultLike {
  observe(instrument: never, value: number, attributes: LabelAttributes): void
}

/** The part of a meter of `@opentelemetry/api` that is used. */
export interface OtelMeterLike {
  createHistogram(name: string, options: InstrumentOptions): HistogramLike
  createObservableCounter(name: string, options: InstrumentOptions): unknown
  createObservableGauge(name: string, options: InstrumentOptions): unknown
  addBatchObservableCallback(callback: (result: ResultLike) => Promise<void>, instruments: never[]): void
}

export interface OtelMetricsOptions {
  /** A meter of your SDK: `metrics.getMeter('consume-once')`, after the SDK has started. */
  readonly meter: OtelMeterLike
  /**
   * Reads `consume_once.parked.messages`, `consume_once.given_up.messages`, `consume_once.held_partitions` and
   * `consume_once.purge.horizon` from the stores. A store is asked when metrics are collected, at most every 15 s, and less often if its answer takes long:
   * never for more than about 1 % of the time. On Redis a count looks at every key of the database.
   * @defaultValue true
   */
  readonly readStores?: boolean
}

/** One set of instruments for each meter: several consumers share it. */
const OBSERVERS = new WeakMap<OtelMeterLike, Observer>()

/**
 * Creates the instruments of the library (docs/observability.md) on your meter, and returns the observer that feeds
 * them: `observe: [otelMetrics({ meter })]`. Call it for each consumer; all of them share the instruments of a meter,
 * and the first call decides about `readStores`. Counters and gauges are read when the SDK collects; histograms are
 * recorded as things happen, with the buckets of the table unless a view says otherwise. That takes the SDK about a
 * microsecond for each value, and a message has two: `otelMetricProducer()` has no such cost.
 *
 * @throws ConfigError `CONFIG_INVALID` if `meter` is not a meter
 */
export function otelMetrics(options: OtelMetricsOptions): Observer {
  const { meter, readStores = true } = checked(options)
  const known = OBSERVERS.get(meter)
  if (known !== undefined) return known
  const histograms = Object.fromEntries(
    idsOf(HISTOGRAMS).map((id) => [id, meter.createHistogram(HISTOGRAMS[id].otel, optionsOf(HISTOGRAMS[id]))]),
  ) as Record<HistogramId, HistogramLike>
  const onObserved = (id: HistogramId, value: number, labels: Labels): void =>
    histograms[id].record(value, attributesOfLabels(labels))
  const counting = new Meter({ readStores, onObserved })
  const counters = idsOf(COUNTERS).map((id) => {
    return { id, instrument: meter.createObservableCounter(COUNTERS[id].otel, optionsOf(COUNTERS[id])) as never }
  })
  const gauges = idsOf(GAUGES).map((id) => {
    return { id, instrument: meter.createObservableGauge(GAUGES[id].otel, optionsOf(GAUGES[id])) as never }
  })
  const collect = async (result: ResultLike): Promise<void> => {
    for (const { id, instrument } of counters) {
      for (const { labels, value } of counting.counter(id))
        result.observe(instrument, value, attributesOfLabels(labels))
    }
    const readings = await counting.gauges()
    for (const { id, instrument } of gauges) {
      for (const { labels, value } of readings[id]) result.observe(instrument, value, attributesOfLabels(labels))
    }
  }
  meter.addBatchObservableCallback(
    collect,
    [...counters, ...gauges].map(({ instrument }) => instrument),
  )
  OBSERVERS.set(meter, counting.observe)
  return counting.observe
}

function optionsOf(metric: Metric & { readonly buckets?: readonly number[] }): InstrumentOptions {
  const { help: description, unit, buckets } = metric
  if (buckets === undefined) return { description, unit }
  return { description, unit, advice: { explicitBucketBoundaries: [...buckets] } }
}

const KNOWN: Record<keyof OtelMetricsOptions, true> = { meter: true, readStores: true }

function checked(options: OtelMetricsOptions): OtelMetricsOptions {
  const given = givenOf(options)
  const problems: string[] = []
  checkNames('otelMetrics: ', given, { of: 'otelMetrics()', known: KNOWN }, problems)
  const { meter, readStores } = given
  if (typeof meter?.addBatchObservableCallback !== 'function' || typeof meter.createHistogram !== 'function') {
    problems.push('otelMetrics: meter: expected a meter of OpenTelemetry, such as metrics.getMeter("consume-once")')
  }
  if (readStores !== undefined && typeof readStores !== 'boolean') {
    problems.push(`otelMetrics: readStores: expected true or false, got ${typeof readStores}`)
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return given
}
