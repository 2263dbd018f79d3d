import { describe, expect, it } from '@jest/globals'
import { Tale } from './tale.ts'

const DONE = { end: { records: { m: 'done' } } } as const

/** Handled, marked for 1,000 ms, not settled. */
function handledOnce(kind: 'tx' | 'attempt' | 'accepted' = 'accepted'): Tale {
  const tale = new Tale().sends('q#1', 'm').delivers('q#1').claims('A1', 'm').starts('A1', 'm')
  return tale.effects('A1', 'm', { kind }).ends('A1', 'm').marks('A1', 'm', { until: 1_000 })
}

const again = (tale: Tale): Tale => tale.claims('B1', 'm').effects('B1', 'm').marks('B1', 'm')

describe('A2 duplicate', () => {
  it('is told by kind', () => {
    expect(handledOnce('tx').effects('A1', 'm', { kind: 'tx' }).shows(DONE)).toEqual(['A2 duplicate tx'])
    expect(handledOnce('attempt').effects('A1', 'm', { kind: 'attempt' }).shows(DONE)).toEqual(['A2 duplicate attempt'])
    expect(handledOnce().effects('A1', 'm').shows(DONE)).toEqual(['A2 duplicate accepted'])
  })

  it('is none between kinds: a call and what the provider made of it are one effect', () => {
    expect(handledOnce('attempt').effects('A1', 'm', { kind: 'accepted' }).shows(DONE)).toEqual([])
  })

  it('is none in another scope', () => {
    const tale = handledOnce().acks('q#1').sends('q#2', 'billing m').handles('q#2', 'billing m', 'A2').acks('q#2')
    expect(tale.shows({ end: { records: { m: 'done', 'billing m': 'done' } } })).toEqual([])
  })

  it('is none where a person let it run again', () => {
    expect(
      handledOnce().decides('m', 'forget').claims('B1', 'm').effects('B1', 'm').marks('B1', 'm').shows(DONE),
    ).toEqual([])
  })

  it('is one where a person let it run once, and it ran twice', () => {
    const tale = handledOnce().decides('m', 'forget').claims('B1', 'm').effects('B1', 'm').effects('B1', 'm')
    expect(tale.marks('B1', 'm').shows(DONE)).toEqual(['A2 duplicate accepted'])
  })
})

describe('A11 window miss', () => {
  it('is a second effect after the mark of the first has expired', () => {
    expect(again(handledOnce().passes(1_000)).shows(DONE)).toEqual(['A11 window miss'])
  })

  it('is none where it was told', () => {
    const tale = handledOnce().passes(1_000).claims('B1', 'm').tells('beyond-retention', 'm').effects('B1', 'm')
    expect(tale.marks('B1', 'm').shows(DONE)).toEqual([])
  })

  it('is none for what was sent again when the mark was there: that is not an old message', () => {
    expect(again(handledOnce().sends('q#2', 'm').passes(1_000)).shows(DONE)).toEqual([])
  })

  it.each([
    ['told of', true, []],
    ['told of by nobody', false, ['A2 duplicate accepted']],
  ] as const)('is judged where a record in doubt expires, %s', (_case, isTold, expected) => {
    const doubtful = new Tale().sends('q#1', 'm').claims('A1', 'm', { until: 500, keepUntil: 1_000 }).effects('A1', 'm')
    const later = doubtful.passes(1_000).claims('B1', 'm')
    const told = isTold ? later.tells('beyond-retention', 'm') : later
    expect(told.effects('B1', 'm').marks('B1', 'm').shows(DONE)).toEqual(expected)
  })

  it('excuses no further effect of a record in doubt that has expired', () => {
    const doubtful = new Tale().sends('q#1', 'm').claims('A1', 'm', { until: 500, keepUntil: 1_000 }).effects('A1', 'm')
    const told = doubtful.passes(1_000).claims('B1', 'm').tells('beyond-retention', 'm').effects('B1', 'm')
    expect(told.effects('B1', 'm').marks('B1', 'm').shows(DONE)).toEqual(['A2 duplicate accepted'])
  })

  it('is no longer what the next effect is', () => {
    const tale = again(handledOnce().passes(1_000)).effects('B1', 'm')
    expect(tale.shows(DONE)).toEqual(['A11 window miss', 'A2 duplicate accepted'])
  })
})
