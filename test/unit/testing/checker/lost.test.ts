import { describe, expect, it } from '@jest/globals'
import { Tale } from './tale.ts'

const DONE = { end: { records: { m: 'done' } } } as const

describe('A1 lost', () => {
  it('is what was confirmed and is gone, without effect and without copy', () => {
    const tale = new Tale().sends('q#1', 'm').delivers('q#1').acks('q#1')
    expect(tale.shows()).toEqual(['A3 settle before mark', 'A1 lost'])
  })

  it('is also what the broker lost by itself', () => {
    expect(new Tale().sends('q#1', 'm').shows()).toEqual(['A1 lost'])
  })

  it('is also what has another payload than the one that had the effect', () => {
    const tale = new Tale()
      .sends('q#1', 'm')
      .handles('q#1', 'm', 'A1')
      .acks('q#1')
      .sends('q#2', 'm', { print: 'other' })
    expect(tale.shows(DONE)).toEqual(['A1 lost'])
  })

  it('is also what was called for, and not accepted', () => {
    const other = new Tale().sends('q#1', 'm').handles('q#1', 'm', 'A1').acks('q#1')
    other.sends('q#2', 'n').delivers('q#2').claims('A2', 'n').effects('A2', 'n', { kind: 'attempt' }).marks('A2', 'n')
    other.acks('q#2')
    expect(other.shows({ end: { records: { m: 'done', n: 'done' } } })).toEqual(['A1 lost', 'A4b mark without effect'])
  })

  it('is not what lies in the broker still: that is a stall', () => {
    const tale = new Tale().sends('q#1', 'm').delivers('q#1')
    expect(tale.shows({ end: { isDrained: false, unsettled: ['q#1'] } })).toEqual(['L1 stall'])
  })

  it('is not what nobody confirmed', () => {
    expect(new Tale().sends('q#1', 'm', { type: 'info' }).shows()).toEqual([])
  })

  it('is not what had its effect', () => {
    expect(new Tale().sends('q#1', 'm').handles('q#1', 'm', 'A1').acks('q#1').shows(DONE)).toEqual([])
  })

  it('is not what was called for, where nobody tells what came of calls', () => {
    const tale = new Tale().sends('q#1', 'm').delivers('q#1').claims('A1', 'm')
    tale.effects('A1', 'm', { kind: 'attempt' }).marks('A1', 'm').acks('q#1')
    expect(tale.shows(DONE)).toEqual([])
  })

  it('is not what was sent twice and had its one effect', () => {
    const tale = new Tale().sends('q#1', 'm').sends('q#2', 'm').handles('q#1', 'm', 'A1').acks('q#1')
    expect(tale.delivers('q#2').tells('duplicate', 'm', { place: 'q#2' }).acks('q#2').shows(DONE)).toEqual([])
  })

  it('is not what has a confirmed dead letter, or a retry copy that has its own effect', () => {
    const deadLetter = new Tale()
      .sends('q#1', undefined)
      .delivers('q#1')
      .deadLetters('q#1', { reason: 'no-id' })
      .acks('q#1')
    expect(deadLetter.shows()).toEqual([])
    const retry = new Tale().sends('q#1', 'm').delivers('q#1').sends('r#1', 'm', { copyOf: 'q#1' })
    retry.retriesLater('q#1').acks('q#1').handles('r#1', 'm', 'A1').acks('r#1')
    expect(retry.shows(DONE)).toEqual([])
  })

  it('is a retry copy that is gone, though what it was copied of is not', () => {
    const tale = new Tale().sends('q#1', 'm').delivers('q#1').sends('r#1', 'm', { copyOf: 'q#1' }).retriesLater('q#1')
    const { anomalies } = tale.acks('q#1').judged()
    expect(anomalies.get('A1 lost')?.map(({ says }) => says)).toEqual([
      'r#1 was confirmed and is gone, without an effect and without a copy',
    ])
  })

  it('is not what was marked without an effect, and rightly, nor what a person calls done', () => {
    const skipped = new Tale()
      .sends('q#1', 'm')
      .delivers('q#1')
      .claims('A1', 'm')
      .marks('A1', 'm', { without: 'skipped' })
    expect(skipped.acks('q#1').shows(DONE)).toEqual([])
    const resolved = new Tale().sends('q#1', 'm').claims('A1', 'm').setsAside('A1', 'm', { as: 'parked' })
    expect(resolved.decides('m', 'done').delivers('q#1').acks('q#1').shows(DONE)).toEqual([])
  })
})
