import { describe, expect, it } from '@jest/globals'
import { COUNTERS, GAUGES, HISTOGRAMS, METRICS } from '../../../src/signals/metrics.ts'

describe('the table of metrics', () => {
  it('has a name for Prometheus by the rules of OpenTelemetry, for each metric another', () => {
    const { deliveries, steps } = COUNTERS
    const { endToEnd, batchSize } = HISTOGRAMS
    expect([deliveries, steps, endToEnd, batchSize, GAUGES.lease].map(({ name, kind }) => `${kind} ${name}`)).toEqual([
      'counter consume_once_deliveries_total',
      'counter consume_once_step_seconds_total',
      'histogram consume_once_end_to_end_duration_seconds',
      'histogram consume_once_batch_size',
      'gauge consume_once_lease_seconds',
    ])
    expect(new Set(METRICS.map(({ name }) => name)).size).toBe(METRICS.length)
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
