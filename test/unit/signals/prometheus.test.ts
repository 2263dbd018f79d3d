import { afterEach, describe, expect, it } from '@jest/globals'
import * as promClient14 from 'prom-client-14'
import * as promClient15 from 'prom-client'
import { prometheus } from 'consume-once/prometheus'
import { ConfigError } from '../../../src/foundation/errors.ts'
import type { ObserverEvent } from '../../../src/ports/observer.ts'
import { METRICS } from '../../../src/signals/metrics.ts'
import { endRigs, startRig } from '../../kit/rig.ts'

afterEach(endRigs)

/** The lines of a scrape that have a value, by what stands before it. */
function samplesIn(text: string): Record<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]))
}

function typesIn(text: string): Record<string, string> {
  return Object.fromEntries([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type]))
}

function handled(consumer: string, destination = 'orders'): ObserverEvent {
  const message = { system: 'kafka', destination, headers: {} }
  return { type: 'delivery', consumer, outcome: 'handled', message, endToEndMs: 20 } as unknown as ObserverEvent
}

const LINE =
  'consume_once_deliveries_total{consumer="sms",system="kafka",destination="orders",outcome="handled",replay="false"}'

describe.each([
  ['prom-client 14', promClient14 as unknown as typeof promClient15],
  ['prom-client 15', promClient15],
])('prometheus() on %s', (_name, { Registry, AggregatorRegistry }) => {
  it('registers all metrics of the table, with their types', async () => {
    const registry = new Registry()
    prometheus({ registry })
    expect(typesIn(await registry.metrics())).toEqual(Object.fromEntries(METRICS.map(({ name, kind }) => [name, kind])))
  })

  it('writes counters, histograms and gauges', async () => {
    const registry = new Registry()
    const rig = await startRig({ effect: (work) => work.apply(), observe: prometheus({ registry }) })
    await rig.deliver({ id: 'a', timestamp: rig.clock.now() - 20 })
    const samples = samplesIn(await registry.metrics())
    expect(samples).toMatchObject({
      'consume_once_deliveries_total{consumer="consumer",system="memory",destination="topic",outcome="handled",replay="false"}': 1,
      'consume_once_end_to_end_duration_seconds_bucket{le="0.01",consumer="consumer",destination="topic"}': 0,
      'consume_once_end_to_end_duration_seconds_bucket{le="0.05",consumer="consumer",destination="topic"}': 1,
      'consume_once_end_to_end_duration_seconds_bucket{le="86400",consumer="consumer",destination="topic"}': 1,
      'consume_once_end_to_end_duration_seconds_bucket{le="+Inf",consumer="consumer",destination="topic"}': 1,
      'consume_once_end_to_end_duration_seconds_sum{consumer="consumer",destination="topic"}': 0.02,
      'consume_once_end_to_end_duration_seconds_count{consumer="consumer",destination="topic"}': 1,
      'consume_once_ready{consumer="consumer"}': 1,
    })
  })

  it('is shared by the consumers of a registry', async () => {
    const registry = new Registry()
    prometheus({ registry })(handled('sms'))
    prometheus({ registry })(handled('mail'))
    prometheus({ registry })(handled('sms'))
    expect(samplesIn(await registry.metrics())).toMatchObject({ [LINE]: 2, [LINE.replace('sms', 'mail')]: 1 })
  })

  it('keeps registries apart', async () => {
    const [one, other] = [new Registry(), new Registry()]
    prometheus({ registry: one })(handled('sms'))
    prometheus({ registry: other })
    expect(samplesIn(await other.metrics())[LINE]).toBeUndefined()
  })

  it('begins at 0 after the registry was cleared or reset', async () => {
    const registry = new Registry()
    prometheus({ registry })(handled('sms'))
    registry.clear()
    expect(await registry.metrics()).not.toContain('consume_once')
    prometheus({ registry })(handled('sms'))
    expect(samplesIn(await registry.metrics())[LINE]).toBe(1)
    registry.resetMetrics()
    prometheus({ registry })(handled('sms'))
    expect(samplesIn(await registry.metrics())[LINE]).toBe(1)
  })

  it('has the labels of the registry on each line', async () => {
    const registry = new Registry()
    registry.setDefaultLabels({ app: 'shop' })
    prometheus({ registry })(handled('sms'))
    for (const _ of [1, 2]) {
      expect(samplesIn(await registry.metrics())[LINE.replace('}', ',app="shop"}')]).toBe(1)
      await registry.getMetricsAsJSON()
    }
  })

  it('is added up over the processes of a cluster', async () => {
    const workers = [new Registry(), new Registry()]
    for (const registry of workers) {
      const observe = prometheus({ registry })
      for (let count = 0; count < 3; count++) observe(handled('sms'))
    }
    const sent = await Promise.all(workers.map(async (one) => JSON.parse(JSON.stringify(await one.getMetricsAsJSON()))))
    const text = await AggregatorRegistry.aggregate(sent as object[]).metrics()
    expect(samplesIn(text)).toMatchObject({
      [LINE]: 6,
      'consume_once_end_to_end_duration_seconds_bucket{le="+Inf",consumer="sms",destination="orders"}': 6,
    })
    expect(typesIn(text)).toMatchObject({ consume_once_ready: 'gauge' })
  })

  it('writes one line for one set of labels, however hostile their text', async () => {
    const registry = new Registry()
    const observe = prometheus({ registry })
    const names = ['a"b', 'a\\"b', 'a\nb', 'a\\nb', 'a\\', '{}', 'a\u2028b', '\ud800', '\udfff', '\u0000', '🦊', '']
    for (const name of names) observe(handled('sms', name))
    const text = await registry.metrics()
    const lines = text.split('\n').filter((line) => line.includes('outcome="handled"'))
    expect(new Set(lines.map((line) => line.slice(0, line.lastIndexOf(' ')))).size).toBe(lines.length)
    for (const line of lines) expect(line).toMatch(/^\w+\{(?:\w+="(?:[^"\\\n]|\\.)*",?)+\} \d+$/)
  })

  it('refuses a registry that has such a metric from elsewhere', () => {
    const registry = new Registry()
    registry.registerMetric({ name: 'consume_once_ready' } as never)
    expect(() => prometheus({ registry })).toThrow(ConfigError)
    expect(() => prometheus({ registry })).toThrow(/got consume_once_ready/)
  })
})

it('prometheus() refuses what is no registry', () => {
  expect(() => prometheus({} as never)).toThrow(/registry: expected a registry of prom-client/)
  expect(() => prometheus(undefined as never)).toThrow(ConfigError)
})

it('prometheus() writes OpenMetrics, too', async () => {
  const registry = new promClient15.Registry<promClient15.OpenMetricsContentType>()
  registry.setContentType(promClient15.Registry.OPENMETRICS_CONTENT_TYPE)
  prometheus({ registry })(handled('sms'))
  for (const _ of [1, 2]) {
    const text = await registry.metrics()
    expect(text).toContain('# TYPE consume_once_deliveries counter')
    expect(samplesIn(text)[LINE]).toBe(1)
    expect(text).not.toContain('_total_total')
    prometheus({ registry })
  }
})
