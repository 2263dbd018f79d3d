import { describe, expect, it } from '@jest/globals'
import { check } from '../../../../testing/index.ts'
import { Tale } from './tale.ts'

const UNFOUNDED = 'A15 unfounded dead letter'
const sent = (): Tale => new Tale().sends('q#1', 'm').delivers('q#1')
const deadLetter = (reason: string, parked = false): { readonly reason: string; readonly parked: boolean } => ({
  reason,
  parked,
})

/** By its handler, which told of this end. */
function given(how: 'ok' | 'failed'): Tale {
  const ended = sent().claims('A1', 'm').starts('A1', 'm').ends('A1', 'm', how)
  return ended.setsAside('A1', 'm').deadLetters('q#1', deadLetter('handler-failed')).acks('q#1')
}

describe('A15 unfounded dead letter', () => {
  it('is a conflict of what was sent with one payload only', () => {
    expect(sent().deadLetters('q#1', deadLetter('conflict')).acks('q#1').shows()).toEqual([UNFOUNDED])
    const two = sent().sends('q#2', 'm', { print: 'other' }).deadLetters('q#2', deadLetter('conflict')).acks('q#2')
    expect(two.handles('q#1', 'm', 'A1').shows({ end: { records: { m: 'done' } } })).toEqual([])
  })

  it('is one for want of an ID that it has', () => {
    expect(sent().deadLetters('q#1', deadLetter('no-id')).acks('q#1').shows()).toEqual([UNFOUNDED])
    const without = new Tale().sends('q#1', undefined).deadLetters('q#1', deadLetter('no-id')).acks('q#1')
    expect(without.shows()).toEqual([])
  })

  it('is one for doubt where what is in doubt runs again', () => {
    const parked = sent().claims('A1', 'm').setsAside('A1', 'm', { as: 'parked', reason: 'in-doubt' })
    const deadLettered = parked.deadLetters('q#1', deadLetter('in-doubt', true)).acks('q#1')
    const end = { records: { m: 'parked' } } as const
    expect(deadLettered.shows({ end, promised: 'lease, rerun' })).toEqual([UNFOUNDED])
    expect(deadLettered.shows({ end, promised: 'lease, park' })).toEqual([])
  })

  it('is one for a failure that no handler told of', () => {
    const end = { records: { m: 'given-up' } } as const
    expect(given('ok').shows({ end })).toEqual([UNFOUNDED])
    expect(given('failed').shows({ end })).toEqual([])
  })
})

describe('what is no history', () => {
  it('is refused: a mistyped event would prove nothing', () => {
    const { history, rules } = { history: { events: [{ at: 0, proc: 'a', f: 'efect' }], end: END }, rules: RULES }
    expect(() => check(history as never, rules)).toThrow('no such event: {"at":0,"proc":"a","f":"efect"}')
  })

  it('is a drain without an end that left nothing', () => {
    expect(
      sent()
        .handles('q#1', 'm', 'A1')
        .shows({ end: { isDrained: false, records: { m: 'done' } } }),
    ).toEqual(['L1 stall'])
  })
})

const END = { isDrained: true, unsettled: [], records: new Map(), at: 1 }
const RULES = { promised: 'inbox', hadFaults: true, maxAttempts: 3, mostDeliveries: 10 } as const
