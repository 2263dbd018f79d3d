import { describe, expect, it } from '@jest/globals'
import { COUNTERS, GAUGES, HISTOGRAMS, METRICS, type Metric } from '../../../src/signals/metrics.ts'

/** A name by the rules of OpenTelemetry for Prometheus. */
function exported({ otel, unit, kind }: Metric): string {
  const name = otel.replaceAll('.', '_') + (unit === 's' ? '_seconds' : '')
  return kind === 'counter' ? `${name}_total` : name
}

describe('the table of metrics', () => {
  it('has one name for both systems, by the rules of OpenTelemetry for Prometheus', () => {
    expect(METRICS.map(({ name }) => name)).toEqual(METRICS.map(exported))
    expect(new Set(METRICS.map(({ name }) => name)).size).toBe(METRICS.length)
  })

  it('has each kind in its own part', () => {
    const kinds = [COUNTERS, HISTOGRAMS, GAUGES].map(
      (part) => new Set(Object.values<Metric>(part).map(({ kind }) => kind)),
    )
    expect(kinds).toEqual([new Set(['counter']), new Set(['histogram']), new Set(['gauge'])])
  })

  it('names legal labels, the consumer first, and never an ID or a key', () => {
    for (const { labels } of METRICS) {
      expect(labels[0]).toBe('consumer')
      for (const label of labels) expect(label).toMatch(/^(?!id$|key$|le$|quantile$|__)[a-z][a-z_]*$/)
    }
  })

  it('has ascending buckets', () => {
    for (const { buckets } of Object.values(HISTOGRAMS)) {
      expect([...buckets].toSorted((one, other) => one - other)).toEqual(buckets)
      expect(new Set(buckets).size).toBe(buckets.length)
    }
  })

  it('explains each metric in a line', () => {
    for (const { help } of METRICS) expect(help).toMatch(/^[A-Z0-9][^\n"\\]+\.$/)
  })
})
