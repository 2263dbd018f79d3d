import { describe, expect, it } from '@jest/globals'
import { Tale } from './tale.ts'

const DONE = { end: { records: { m: 'done' } } } as const
const BOTH = { end: { records: { m: 'done', n: 'done' } } } as const

/** Effect, not marked. */
function effected(place: string): Tale {
  return new Tale().sends(place, 'm').delivers(place).claims('A1', 'm').effects('A1', 'm')
}

/** And marked. */
const marked = (place: string): Tale => effected(place).marks('A1', 'm')

describe('A3 settle before mark', () => {
  it('is an ack that came before the mark', () => {
    expect(effected('q#1').acks('q#1').marks('A1', 'm').shows(DONE)).toEqual(['A3 settle before mark'])
  })

  it('is a commit that covers what is not marked, each message of it', () => {
    const tale = effected('t/0@4').sends('t/0@5', 'n').delivers('t/0@5').claims('A2', 'n').effects('A2', 'n')
    const { anomalies } = tale.commits('t/0', 6).marks('A1', 'm').marks('A2', 'n').judged(BOTH)
    expect(anomalies.get('A3 settle before mark')?.map(({ says }) => says)).toEqual([
      't/0@4 was settled without mark and without copy',
      't/0@5 was settled without mark and without copy',
    ])
  })

  it('is none of another partition, nor of what the commit does not cover', () => {
    const tale = effected('t/0@4').sends('t/0@3', 'n').handles('t/0@3', 'n', 'A2').commits('t/0', 4).commits('t/1', 9)
    expect(tale.marks('A1', 'm').commits('t/0', 5).shows(BOTH)).toEqual([])
  })

  it('is none where the first commit was the one whose reply was lost', () => {
    const tale = effected('t/0@4').marks('A1', 'm').commits('t/0', 5).delivers('t/0@4', 'e2').commits('t/0', 5, 'e2')
    expect(tale.shows(DONE)).toEqual([])
  })

  it('is none after a re-read', () => {
    const tale = effected('t/0@4').marks('A1', 'm').crashes('A').delivers('t/0@4', 'e2')
    expect(tale.tells('duplicate', 'm').commits('t/0', 5, 'e2').shows(DONE)).toEqual([])
  })

  it('is none where offsets have gaps', () => {
    const tale = effected('t/0@4').sends('t/0@1000000', 'n').marks('A1', 'm').handles('t/0@1000000', 'n', 'A2')
    expect(tale.commits('t/0', 1_000_001).shows(BOTH)).toEqual([])
  })

  it('is none where the store lost the mark later, or before the settle', () => {
    expect(effected('q#1').marks('A1', 'm').loses('m').acks('q#1').shows()).toEqual([])
    expect(effected('q#1').marks('A1', 'm').loses().acks('q#1').shows()).toEqual([])
  })

  it('is one where the mark is of another payload', () => {
    const tale = effected('q#1').marks('A1', 'm').acks('q#1').sends('q#2', 'm', { print: 'other' }).delivers('q#2')
    expect(tale.acks('q#2').shows(DONE)).toEqual(['A3 settle before mark', 'A1 lost'])
    const conflict = effected('q#1').marks('A1', 'm').acks('q#1').sends('q#2', 'm', { print: 'other' }).delivers('q#2')
    expect(conflict.deadLetters('q#2', { reason: 'conflict' }).acks('q#2').shows(DONE)).toEqual([])
  })

  it('is one where the mark is of another payload that had been sent by then', () => {
    const tale = new Tale()
      .sends('q#2', 'm', { print: 'other' })
      .sends('q#1', 'm')
      .handles('q#1', 'm', 'A1')
      .acks('q#1')
    expect(tale.delivers('q#2').acks('q#2').shows(DONE)).toEqual(['A3 settle before mark', 'A1 lost'])
  })

  it('is told once', () => {
    const { anomalies } = effected('q#1').acks('q#1').acks('q#1').marks('A1', 'm').judged(DONE)
    expect(anomalies.get('A3 settle before mark')).toHaveLength(1)
  })

  it('is judged by offsets, in whatever order the producers hear of them', () => {
    const { anomalies } = new Tale()
      .sends('t/0@5', 'n')
      .sends('t/0@4', 'm')
      .delivers('t/0@4')
      .commits('t/0', 5)
      .judged()
    expect(anomalies.get('A3 settle before mark')).toHaveLength(1)
    const late = new Tale().commits('t/0', 5).sends('t/0@4', 'm')
    expect(late.shows()).toEqual(['A3 settle before mark', 'A1 lost'])
  })

  it('is one where the copy is confirmed only after the settle', () => {
    const deadLetter = { parked: true, reason: 'attempts-spent' }
    const early = new Tale()
      .sends('q#1', 'm')
      .delivers('q#1')
      .deadLetters('q#1', { ...deadLetter, type: 'info' })
      .acks('q#1')
    expect(early.deadLetters('q#1', deadLetter).shows()).toEqual(['A3 settle before mark'])
    const right = new Tale()
      .sends('q#1', 'm')
      .delivers('q#1')
      .deadLetters('q#1', { ...deadLetter, type: 'info' })
    expect(right.deadLetters('q#1', deadLetter).acks('q#1').shows()).toEqual([])
  })

  it('is judged also where the producer heard of its message later than the consumer', () => {
    const late = new Tale().delivers('t/0@4').commits('t/0', 5).sends('t/0@4', 'm')
    expect(late.shows()).toEqual(['A3 settle before mark', 'A1 lost'])
    const right = new Tale().delivers('t/0@4').claims('A1', 'm').effects('A1', 'm').marks('A1', 'm').commits('t/0', 5)
    expect(right.sends('t/0@4', 'm').shows(DONE)).toEqual([])
  })

  it('is one for a message without an ID that has no copy', () => {
    const tale = new Tale().sends('q#1', undefined).delivers('q#1').acks('q#1')
    expect(tale.shows()).toEqual(['A3 settle before mark', 'A1 lost'])
  })
})

describe('A9 wrong settle', () => {
  it('is an ack through another channel than the one that delivered', () => {
    expect(marked('q#1').acks('q#1', 'c2', 'c1').shows(DONE)).toEqual(['A9 wrong settle'])
  })

  it('is a commit of an epoch that is over', () => {
    expect(marked('t/0@0').commits('t/0', 1, 'e1', 'e2').shows(DONE)).toEqual(['A9 wrong settle'])
  })

  it('is a committed offset that goes back', () => {
    expect(marked('t/0@4').commits('t/0', 5).commits('t/0', 4).shows(DONE)).toEqual(['A9 wrong settle'])
  })

  it('is a commit past what no epoch was ever given', () => {
    const tale = marked('t/0@4').sends('t/0@5', 'n').commits('t/0', 6)
    expect(tale.shows(DONE)).toEqual(['A9 wrong settle', 'A3 settle before mark', 'A1 lost'])
  })

  it('is none for what an earlier epoch was given and a later one commits', () => {
    expect(marked('t/0@4').delivers('t/0@4', 'e2').commits('t/0', 5, 'e2').shows(DONE)).toEqual([])
  })
})
