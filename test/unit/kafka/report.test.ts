import { describe, expect, it } from '@jest/globals'
import { kafkaEvents } from '../../../adapters/kafka/report.ts'
import type { SourceEvent } from '../../../src/internal.ts'

describe('what the Kafka source tells', () => {
  it('is a warning unless it belongs to a normal day', () => {
    const told: SourceEvent[] = []
    const events = kafkaEvents()
    events.begin({ report: (event) => void told.push(event) })
    events.report('rebalancing', 'group')
    events.report('lost-by-retention', 'sms/0')
    expect(told).toEqual([
      { type: 'source', event: 'rebalancing', detail: 'group' },
      { type: 'source', event: 'lost-by-retention', detail: 'sms/0', isWarning: true },
    ])
  })

  it('is counted, and an observer that throws breaks nothing', () => {
    const events = kafkaEvents()
    events.report('rebalancing', 'before it opened')
    events.begin({
      report: () => {
        throw new Error('the own error of the observer')
      },
    })
    events.report('rebalancing', 'group')
    expect(events.counts).toEqual({ rebalancing: 2 })
  })
})
