import { describe, expect, it } from '@jest/globals'
import { explain } from 'consume-once/testing'
import { Tale } from './tale.ts'

const DONE = { end: { records: { m: 'done' } } } as const

const twice = (): Tale =>
  new Tale()
    .sends('q#1', 'm')
    .sends('q#2', 'x')
    .handles('q#1', 'm', 'A1')
    .effects('A1', 'm')
    .handles('q#2', 'x', 'B1')
    .acks('q#1')
const end = { records: { m: 'done', x: 'done' } } as const

describe('a verdict', () => {
  it('admits under faults what the promise admits, and counts it', () => {
    const { valid, admitted, anomalies } = twice().judged({ hadFaults: true, end })
    expect(valid).toBe(true)
    expect([...admitted]).toEqual(['A2 duplicate accepted'])
    expect(anomalies.get('A2 duplicate accepted')).toHaveLength(1)
  })

  it('admits nothing without faults, nor what another promise admits', () => {
    expect(twice().judged({ end }).valid).toBe(false)
    expect(twice().judged({ hadFaults: true, promised: 'lease, keyed', end }).valid).toBe(false)
  })

  it('admits what its run admits beside that', () => {
    const rules = { hadFaults: true, promised: 'lease, keyed', admitted: ['A2 duplicate accepted'] } as const
    expect(twice().judged({ ...rules, end }).valid).toBe(true)
    expect(twice().judged({ ...rules, hadFaults: false, end }).valid).toBe(false)
  })

  it('shows the few events of that key, and no others', () => {
    const tale = new Tale().sends('q#1', 'm').sends('q#2', 'x').claims('A1', 'm')
    for (let time = 0; time < 50; time++) tale.renews('A1', 'm').renews('B1', 'x')
    const { anomalies } = tale.effects('A1', 'm').crashes('A').effects('A1', 'm').marks('A1', 'm').judged(DONE)
    const events = anomalies.get('A2 duplicate accepted')?.[0]?.events ?? []
    expect(events.map(({ f }) => f)).toEqual(['send', ...Array(7).fill('renew'), 'effect', 'crash', 'effect', 'mark'])
    expect(events.filter((event) => 'subject' in event && event.subject === 'x')).toEqual([])
  })

  it('is explained: each anomaly with its witnesses, what is admitted as a count', () => {
    const tale = new Tale()
      .sends('q#1', 'm')
      .delivers('q#1')
      .effects('A1', 'm')
      .acks('q#1')
      .effects('A1', 'm')
      .marks('A1', 'm')
    expect(explain(tale.judged({ ...DONE, hadFaults: true }))).toBe(
      [
        'A3 settle before mark: 1',
        '  q#1 was settled without mark and without copy',
        '    0 producer send type=ok place=q#1 subject=m print=p',
        '    1 A deliver place=q#1 via=e1',
        '    2 A effect kind=accepted subject=m token=A1',
        '    3 broker ack place=q#1 via=c1 deliveredVia=c1',
        '    4 A effect kind=accepted subject=m token=A1',
        '    5 A mark type=ok subject=m token=A1',
        'A2 duplicate accepted: 1, admitted',
      ].join('\n'),
    )
    expect(explain(new Tale().judged())).toBe('no anomaly')
  })
})
