import { describe, expect, it } from '@jest/globals'
import { Tale } from './tale.ts'

const delivered = (times: number): Tale => {
  const tale = new Tale().sends('q#1', 'm', { type: 'info' })
  for (let time = 0; time < times; time++) tale.delivers('q#1')
  return tale
}

const sampled = (heap: (sample: number) => number, proc: (sample: number) => string = () => 'A'): Tale => {
  const tale = new Tale()
  for (let sample = 0; sample < 60; sample++) tale.samples(proc(sample), { heapMb: heap(sample) })
  return tale
}

const called = (): Tale => new Tale().calls('A', 50)

/** The call begins in a pause, with 70 ms left of it. */
const calledFrozen = (): Tale => new Tale().pauses('A', 100).passes(30).calls('A', 50)

describe('L1 stall', () => {
  it('is told for each message that lies in the broker still', () => {
    const tale = new Tale().sends('q#1', 'm').sends('q#2', 'n')
    const { anomalies } = tale.judged({ end: { isDrained: false, unsettled: ['q#1', 'q#2'] } })
    expect(anomalies.get('L1 stall')?.map(({ says }) => says)).toEqual([
      'q#1 lies in the broker still',
      'q#2 lies in the broker still',
    ])
  })
})

describe('L3 storm', () => {
  it('is more deliveries of one message than may be, told once', () => {
    expect(delivered(10).shows()).toEqual([])
    expect(delivered(11).shows()).toEqual(['L3 storm'])
    expect(delivered(30).judged().anomalies.get('L3 storm')).toHaveLength(1)
  })
})

describe('L4 growth', () => {
  it('is what rises from the first sample to the last', () => {
    expect(sampled((sample) => 40 + sample * 5).shows()).toEqual(['L4 growth'])
  })

  it('is none after a warm-up, nor in peaks', () => {
    expect(sampled((sample) => Math.min(sample, 12) * 20).shows()).toEqual([])
    expect(sampled((sample) => (sample % 7 === 0 ? 900 : 60)).shows()).toEqual([])
  })

  it('is judged by process: a small and a large one are no growth', () => {
    expect(
      sampled(
        (sample) => (sample < 30 ? 40 : 400),
        (sample) => (sample < 30 ? 'A' : 'B'),
      ).shows(),
    ).toEqual([])
  })
})

describe('L5 hang', () => {
  it('is a call that ends too late, or never', () => {
    expect(called().passes(50).answers('A', 'fail').shows()).toEqual(['L5 hang'])
    expect(called().shows({ end: { at: 51 } })).toEqual(['L5 hang'])
  })

  it('is none in time, nor at the end of a process', () => {
    expect(
      called()
        .passes(49)
        .answers('A')
        .shows({ end: { at: 900 } }),
    ).toEqual([])
    expect(called().shows({ end: { at: 50 } })).toEqual([])
    expect(
      called()
        .crashes('A')
        .shows({ end: { at: 900 } }),
    ).toEqual([])
  })

  it('is one of a process that lives, though another died', () => {
    expect(
      called()
        .crashes('B')
        .shows({ end: { at: 900 } }),
    ).toEqual(['L5 hang'])
  })

  it('leaves out what the process stood still', () => {
    expect(called().pauses('A', 100).passes(148).answers('A').shows()).toEqual([])
    expect(called().pauses('A', 100).passes(149).answers('A').shows()).toEqual(['L5 hang'])
    expect(calledFrozen().passes(118).answers('A').shows()).toEqual([])
    expect(calledFrozen().passes(119).answers('A').shows()).toEqual(['L5 hang'])
    expect(called().pauses('A').passes(500).heals().passes(40).answers('A').shows()).toEqual([])
    expect(called().pauses('A').passes(500).heals().passes(60).answers('A').shows()).toEqual(['L5 hang'])
  })
})
