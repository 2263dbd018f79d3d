import { describe, expect, it } from '@jest/globals'
import { sourceEvent } from '../../../adapters/kafkajs/report.ts'

describe('what the Kafka source tells', () => {
  it('is a warning unless it belongs to a normal day', () => {
    expect(sourceEvent('rebalancing', 'group')).toEqual({ type: 'source', event: 'rebalancing', detail: 'group' })
    const lost = { type: 'source', event: 'lost-by-retention', detail: 'sms/0' }
    expect(sourceEvent('lost-by-retention', 'sms/0')).toEqual({ ...lost, isWarning: true })
  })
})
