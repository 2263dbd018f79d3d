import { afterEach, describe, expect, it } from '@jest/globals'
import { createNoopMeter } from '@opentelemetry/api'
import {
  AggregationTemporality,
  DataPointType,
  MeterProvider,
  MetricReader,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics'
import { otelMetricProducer, otelMetrics } from 'consume-once/otel'
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

function sdk(producer?: MetricProducer): {
  readonly provider: MeterProvider
  readonly collected: () => Promise<Record<string, MetricData>>
} {
  const reader = new TestReader(producer && { metricProducers: [producer] })
  readers.push(reader)
  const provider = new MeterProvider({ readers: [reader] })
  return {
    provider,
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

/** Without what differs between two runs: times, and the age of a duplicate. The SDK adds extremes to a histogram. */
function compared(found: Record<string, MetricData>): unknown {
  return Object.entries(found)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, { descriptor, dataPointType, aggregationTemporality, dataPoints }]) => {
      const points = dataPoints.map(({ attributes, value }) => {
        if (typeof value === 'number') return { attributes, value }
        const sum = name === 'consume_once.duplicate.age' ? undefined : value.sum
        return { attributes, value: { ...value, sum, min: undefined, max: undefined } }
      })
      const { unit, description, valueType } = descriptor
      return { name, unit, description, valueType, dataPointType, aggregationTemporality, points }
    })
}

describe('otelMetrics()', () => {
  it('makes instruments by the table, with unit, text and buckets', async () => {
    const { provider, collected } = sdk()
    const meter = provider.getMeter('consume-once')
    const rig = await startRig({ effect: (work) => work.apply(), observe: otelMetrics({ meter }) })
    await rig.deliver({ id: 'a', timestamp: rig.clock.now() - 20 })
    await rig.deliver('a')
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

  it('counts, observes and reads', async () => {
    const { provider, collected } = sdk()
    const meter = provider.getMeter('consume-once')
    const rig = await startRig({ effect: (work) => work.apply(), observe: otelMetrics({ meter }) })
    await rig.deliver({ id: 'a', timestamp: rig.clock.now() - 20 }, 'b')
    await rig.deliver('a')
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
    // A second collection sees the totals, not the sum of both.
    expect((await collected())['consume_once.duplicates']?.dataPoints).toEqual(
      expect.arrayContaining([expect.objectContaining({ value: 1 })]),
    )
  })

  it('shares the instruments of a meter between consumers, and keeps meters apart', async () => {
    const { provider } = sdk()
    const one = otelMetrics({ meter: provider.getMeter('one') })
    expect(otelMetrics({ meter: provider.getMeter('one') })).toBe(one)
    expect(otelMetrics({ meter: provider.getMeter('other') })).not.toBe(one)
  })

  it('works on a meter without an SDK', async () => {
    const rig = await startRig({ effect: (work) => work.apply(), observe: otelMetrics({ meter: createNoopMeter() }) })
    await rig.deliver('a')
    expect(rig.outcomes()).toEqual(['handled'])
  })

  it('refuses what is no meter', () => {
    expect(() => otelMetrics({} as never)).toThrow(ConfigError)
    expect(() => otelMetrics({ meter: createNoopMeter(), stores: true } as never)).toThrow(/stores/)
  })
})

describe('otelMetricProducer()', () => {
  it('hands a reader the same metrics as instruments of the API', async () => {
    const producer = otelMetricProducer()
    const own = sdk(producer)
    await produced(producer.observe)
    await endRigs()
    const api = sdk()
    await produced(otelMetrics({ meter: api.provider.getMeter('consume-once') }))
    await endRigs()
    const [byProducer, byApi] = [await own.collected(), await api.collected()]
    const filled = Object.fromEntries(
      Object.entries(byProducer).filter(
        ([, { dataPointType, dataPoints }]) =>
          // The API has no histogram without a value.
          dataPointType !== DataPointType.HISTOGRAM || dataPoints.some(({ value }) => value.count > 0),
      ),
    )
    expect(compared(filled)).toEqual(compared(byApi))
    expect(Object.keys(byApi)).toContain('consume_once.handler.duration')
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
  })
})
