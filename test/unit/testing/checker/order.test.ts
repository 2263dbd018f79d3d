import { describe, expect, it } from '@jest/globals'
import { Tale } from './tale.ts'

const lane = { lane: 'customer 7' }
const DONE = { end: { records: { a: 'done', b: 'done' } } } as const

const two = (): Tale => new Tale().sends('t/0@0', 'a', lane).sends('t/0@1', 'b', lane)

describe('A8 order', () => {
  it('is an effect before that of an earlier message of its lane', () => {
    expect(two().handles('t/0@1', 'b', 'A1').handles('t/0@0', 'a', 'A2').shows(DONE)).toEqual(['A8 order'])
  })

  it('is an effect while an earlier one is skipped for good', () => {
    const tale = two().handles('t/0@1', 'b', 'A1')
    const end = { isDrained: false, unsettled: ['t/0@0'], records: { b: 'done' } } as const
    expect(tale.shows({ end })).toEqual(['A8 order', 'L1 stall'])
  })

  it('is none in order, nor between lanes, nor without one', () => {
    expect(two().handles('t/0@0', 'a', 'A1').handles('t/0@1', 'b', 'A2').shows(DONE)).toEqual([])
    const lanes = new Tale().sends('t/0@0', 'a', { lane: 'x' }).sends('t/0@1', 'b', { lane: 'y' })
    expect(lanes.handles('t/0@1', 'b', 'A1').handles('t/0@0', 'a', 'A2').shows(DONE)).toEqual([])
    const none = new Tale().sends('q#0', 'a').sends('q#1', 'b')
    expect(none.handles('q#1', 'b', 'A1').handles('q#0', 'a', 'A2').shows(DONE)).toEqual([])
  })

  it('is none where the earlier one was dead-lettered, set aside, or marked without an effect', () => {
    const end = { records: { a: 'given-up', b: 'done' } } as const
    const deadLetter = two().claims('A1', 'a').setsAside('A1', 'a').deadLetters('t/0@0').handles('t/0@1', 'b', 'A2')
    expect(deadLetter.shows({ end })).toEqual([])
    const aside = two().claims('A1', 'a').setsAside('A1', 'a').handles('t/0@1', 'b', 'A2').deadLetters('t/0@0')
    expect(aside.shows({ end })).toEqual([])
    const skipped = two().claims('A1', 'a').marks('A1', 'a', { without: 'skipped' }).handles('t/0@1', 'b', 'A2')
    expect(skipped.shows(DONE)).toEqual([])
  })

  it('is none where the earlier one is not marked yet', () => {
    const tale = two().delivers('t/0@0').claims('A1', 'a').effects('A1', 'a').handles('t/0@1', 'b', 'A2')
    expect(tale.marks('A1', 'a').shows(DONE)).toEqual([])
  })

  it('is told once for a message', () => {
    const { anomalies } = two().handles('t/0@1', 'b', 'A1').effects('A1', 'b').handles('t/0@0', 'a', 'A2').judged(DONE)
    expect(anomalies.get('A8 order')).toHaveLength(1)
  })

  it('is one where the copy of the earlier one is not confirmed yet', () => {
    const tale = two().retriesLater('t/0@0', { type: 'info' }).handles('t/0@1', 'b', 'A1').retriesLater('t/0@0')
    expect(tale.handles('t/0@0', 'a', 'A2').shows(DONE)).toEqual(['A8 order'])
  })

  it('is not judged for what went to a retry place, nor for those behind it', () => {
    const tale = two()
      .sends('r#1', 'a', { ...lane, copyOf: 't/0@0' })
      .retriesLater('t/0@0')
    expect(tale.handles('t/0@1', 'b', 'A1').handles('r#1', 'a', 'A2').shows(DONE)).toEqual([])
    const second = two()
      .sends('r#1', 'b', { ...lane, copyOf: 't/0@1' })
      .retriesLater('t/0@1')
    expect(second.handles('r#1', 'b', 'A1').handles('t/0@0', 'a', 'A2').shows(DONE)).toEqual([])
    const unconfirmed = two()
      .sends('r#1', 'b', { ...lane, copyOf: 't/0@1' })
      .handles('r#1', 'b', 'A1')
    expect(unconfirmed.retriesLater('t/0@1').handles('t/0@0', 'a', 'A2').shows(DONE)).toEqual([])
    const behind = two()
      .sends('r#1', 'a', { ...lane, copyOf: 't/0@0' })
      .retriesLater('t/0@0')
      .sends('t/0@2', 'c', lane)
    behind.handles('t/0@1', 'b', 'A1').handles('t/0@2', 'c', 'A2').handles('r#1', 'a', 'A3')
    expect(behind.shows({ end: { records: { ...DONE.end.records, c: 'done' } } })).toEqual([])
  })

  it('is none where the same message was sent again behind another', () => {
    const tale = two().sends('t/0@2', 'a', lane).handles('t/0@0', 'a', 'A1').handles('t/0@1', 'b', 'A2')
    expect(tale.shows(DONE)).toEqual([])
  })

  it('is none where the earlier one may never have been sent', () => {
    const maybe = new Tale().sends('t/0@0', 'a', { ...lane, type: 'info' }).sends('t/0@1', 'b', lane)
    expect(maybe.handles('t/0@1', 'b', 'A1').shows(DONE)).toContain('A4b mark without effect')
    expect(maybe.shows({ end: { records: { b: 'done' } } })).toEqual([])
  })

  it('is judged by first effects: a duplicate comes in no order', () => {
    const tale = two().handles('t/0@0', 'a', 'A1').handles('t/0@1', 'b', 'A2').effects('A1', 'a')
    expect(tale.shows(DONE)).toEqual(['A2 duplicate accepted'])
  })
})
