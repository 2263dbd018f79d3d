import { afterEach, describe, expect, it } from '@jest/globals'
import { createNoopMeter } from '@opentelemetry/api'
import { DataPointType, MeterProvider, MetricReader, type MetricData } from '@opentelemetry/sdk-metrics'
import { otelMetrics } from 'consume-once/otel'
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

function sdk(): { readonly provider: MeterProvider; readonly collected: () => Promise<Record<string, MetricData>> } {
  const reader = new TestReader()
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
