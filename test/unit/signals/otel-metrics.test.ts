import { afterEach, describe, expect, it } from '@jest/globals'
import {
  AggregationTemporality,
  DataPointType,
  MeterProvider,
  MetricReader,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics'
import { otelMetricProducer } from 'consume-once/otel'
import type { Observer } from '../../../src/ports/observer.ts'
import { ConfigError } from '../../../src/foundation/errors.ts'
import { METRICS } from '../../../src/signals/metrics.ts'
import { endRigs, startRig } from '../../kit/rig.ts'

class TestReader extends MetricReader {
  protected override async onShutdown(): Promise<void> {}
  protected override async onForceFlush(): Promise<void> {}
}

const readers: TestReader[] = []

afterEach(async () => {
  await endRigs()
  await Promise.all(readers.splice(0).map((reader) => reader.shutdown()))
})

function sdk(producer: MetricProducer): { readonly collected: () => Promise<Record<string, MetricData>> } {
  const reader = new TestReader({ metricProducers: [producer] })
  readers.push(reader)
  void new MeterProvider({ readers: [reader] })
  return {
    collected: async () => {
      const { resourceMetrics, errors } = await reader.collect()
      expect(errors).toEqual([])
      const all = resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics)
      return Object.fromEntries(all.map((metric) => [metric.descriptor.name, metric]))
    },
  }
}

/** Two handled messages and a duplicate. */
async function produced(observe: Observer): Promise<void> {
  const rig = await startRig({ effect: (work) => work.apply(), observe })
  await rig.deliver({ id: 'a', timestamp: rig.clock.now() - 20 }, 'b')
  await rig.deliver('a')
}

describe('otelMetricProducer()', () => {
  it('hands a reader metrics by the table, with unit, text and buckets', async () => {
    const producer = otelMetricProducer()
    const { collected } = sdk(producer)
    await produced(producer.observe)
    const found = await collected()
    const names = new Map(METRICS.map((metric) => [metric.otel, metric]))
    for (const [name, { descriptor, dataPointType }] of Object.entries(found)) {
      const metric = names.get(name)
      expect([name, descriptor.unit, descriptor.description]).toEqual([name, metric?.unit, metric?.help])
      const kinds = {
        [DataPointType.SUM]: 'counter',
        [DataPointType.GAUGE]: 'gauge',
        [DataPointType.HISTOGRAM]: 'histogram',
        [DataPointType.EXPONENTIAL_HISTOGRAM]: '',
      }
      expect([name, kinds[dataPointType]]).toEqual([name, metric?.kind])
    }
    expect(Object.keys(found)).toEqual(
      expect.arrayContaining(['consume_once.deliveries', 'consume_once.ready', 'consume_once.handler.duration']),
    )
  })

  it('counts, observes and reads, and shares its numbers between consumers', async () => {
    const producer = otelMetricProducer()
    const { collected } = sdk(producer)
    await produced(producer.observe)
    const found = await collected()
    const points = (name: string): readonly unknown[] => found[name]?.dataPoints ?? []
    const attributes = { consumer: 'consumer', system: 'memory', destination: 'topic', replay: 'false' }
    expect(points('consume_once.deliveries')).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ value: 2, attributes: { ...attributes, outcome: 'handled' } }),
        expect.objectContaining({ value: 1, attributes: { ...attributes, outcome: 'duplicate' } }),
      ]),
    )
    expect(points('consume_once.ready')).toMatchObject([{ value: 1, attributes: { consumer: 'consumer' } }])
    expect(points('consume_once.end_to_end.duration')).toMatchObject([
      { value: { count: 1, sum: 0.02, buckets: { boundaries: expect.arrayContaining([86_400]) } } },
    ])
    await endRigs()
    await produced(producer.observe)
    expect((await collected())['consume_once.deliveries']?.dataPoints).toEqual(
      expect.arrayContaining([expect.objectContaining({ value: 4 })]),
    )
  })

  it('tells deltas since the last collection, if it is asked to, and nothing where nothing was added', async () => {
    const producer = otelMetricProducer({ temporality: 'delta' })
    const { collected } = sdk(producer)
    let endedAt: unknown
    for (let time = 0; time < 2; time++) {
      await produced(producer.observe)
      await endRigs()
      const found = await collected()
      const { dataPoints = [], aggregationTemporality } = found['consume_once.deliveries'] ?? {}
      expect(aggregationTemporality).toBe(AggregationTemporality.DELTA)
      const [handled] = dataPoints.filter(({ attributes }) => attributes['outcome'] === 'handled')
      expect(handled?.value).toBe(2)
      expect(handled?.startTime).toEqual(endedAt ?? handled?.startTime)
      endedAt = handled?.endTime
      expect(found['consume_once.end_to_end.duration']?.dataPoints).toMatchObject([{ value: { count: 1 } }])
    }
    const quiet = await collected()
    expect(quiet['consume_once.deliveries']).toBeUndefined()
    expect(quiet['consume_once.handler.duration']).toBeUndefined()
  })

  it('tells totals since it was made, each time it is collected', async () => {
    const before = Date.now()
    const producer = otelMetricProducer()
    const { collected } = sdk(producer)
    await produced(producer.observe)
    for (let again = 0; again < 2; again++) {
      const { dataPoints = [], aggregationTemporality } = (await collected())['consume_once.deliveries'] ?? {}
      expect(aggregationTemporality).toBe(AggregationTemporality.CUMULATIVE)
      const [handled] = dataPoints.filter(({ attributes }) => attributes['outcome'] === 'handled')
      expect(handled?.value).toBe(2)
      const [from, to] = [handled?.startTime ?? [0, 0], handled?.endTime ?? [0, 0]].map(([s, ns]) => s * 1e3 + ns / 1e6)
      expect(from).toBeGreaterThanOrEqual(before)
      expect(to).toBeGreaterThanOrEqual(from ?? Infinity)
    }
  })

  it('reads gauges of what runs', async () => {
    const producer = otelMetricProducer()
    const { collected } = sdk(producer)
    await produced(producer.observe)
    expect((await collected())['consume_once.ready']?.dataPoints).toMatchObject([
      { value: 1, attributes: { consumer: 'consumer' } },
    ])
  })

  it('refuses options that it does not know', () => {
    expect(() => otelMetricProducer({ stores: true } as never)).toThrow(/stores/)
    expect(() => otelMetricProducer({ readStores: 1 } as never)).toThrow(ConfigError)
    expect(() => otelMetricProducer({ temporality: 'both' } as never)).toThrow(/temporality/)
  })
})
