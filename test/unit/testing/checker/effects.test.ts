import { describe, expect, it } from '@jest/globals'
import { Tale } from './tale.ts'

const DONE = { end: { records: { m: 'done' } } } as const

const sent = (): Tale => new Tale().sends('q#1', 'm').delivers('q#1')
const takenOver = (): Tale =>
  sent().claims('A1', 'm').passes(100).claims('B1', 'm', { verdict: 'taken-over', fence: 2, attempt: 2 })

const effectByB = (tale: Tale): Tale => tale.effects('B1', 'm').marks('B1', 'm')
const handledByB = (tale: Tale): Tale => effectByB(tale.claims('B1', 'm'))
const handled = (): Tale => new Tale().sends('q#1', 'm').handles('q#1', 'm', 'A1').acks('q#1')
const gaveUp = (): Tale => sent().claims('A1', 'm').setsAside('A1', 'm').deadLetters('q#1')

describe('A6 stale effect', () => {
  it('is an effect by an owner after a higher fence was granted', () => {
    expect(takenOver().effects('A1', 'm').marks('B1', 'm').shows(DONE)).toEqual(['A6 stale effect'])
  })

  it('is none before, though its lease has ended, and none by the new owner', () => {
    const before = sent().claims('A1', 'm').passes(500).effects('A1', 'm').marks('A1', 'm')
    expect(before.shows(DONE)).toEqual([])
    expect(takenOver().effects('B1', 'm').marks('B1', 'm').shows(DONE)).toEqual([])
  })

  it('is in a transaction told without a fence: only the last that was granted can commit', () => {
    const inbox = { fence: undefined, until: undefined } as unknown as { fence?: number }
    const tale = sent()
      .claims('A1', 'm', inbox)
      .claims('B1', 'm', { ...inbox, attempt: 2 })
    expect(tale.effects('A1', 'm', { kind: 'tx' }).marks('B1', 'm').shows(DONE)).toEqual(['A6 stale effect'])
  })

  it('is not judged by fences that the store has forgotten', () => {
    const tale = sent().claims('A1', 'm', { fence: 7 }).loses('m').claims('B1', 'm').effects('B1', 'm')
    expect(tale.marks('B1', 'm').shows(DONE)).toEqual([])
  })
})

describe('A7 overlap', () => {
  it('is a handler that begins while another of its key runs', () => {
    expect(effectByB(takenOver().starts('A1', 'm').starts('B1', 'm')).shows(DONE)).toEqual(['A7 overlap'])
  })

  it('is none one after the other, nor after a crash, nor beside another key', () => {
    expect(effectByB(takenOver().starts('A1', 'm').ends('A1', 'm', 'unknown').starts('B1', 'm')).shows(DONE)).toEqual(
      [],
    )
    expect(effectByB(takenOver().starts('A1', 'm').crashes('A').starts('B1', 'm')).shows(DONE)).toEqual([])
    expect(effectByB(takenOver().starts('A1', 'n').starts('B1', 'm')).shows(DONE)).toEqual([])
  })
})

describe('A10 false duplicate', () => {
  it('is a duplicate of what had no effect', () => {
    const tale = sent().tells('duplicate', 'm').effects('A1', 'm').marks('A1', 'm')
    expect(tale.shows(DONE)).toEqual(['A10 false duplicate'])
  })

  it('is a duplicate of what had its effect in another scope', () => {
    const tale = handled().sends('q#2', 'billing m').delivers('q#2').tells('duplicate', 'billing m')
    const end = { isDrained: false, unsettled: ['q#2'], records: { m: 'done' } } as const
    expect(tale.shows({ end })).toEqual(['A10 false duplicate', 'L1 stall'])
  })

  it('is a duplicate of what had its effect with another payload', () => {
    const tale = handled()
      .sends('q#2', 'm', { print: 'other' })
      .delivers('q#2')
      .tells('duplicate', 'm', { place: 'q#2' })
    expect(tale.deadLetters('q#2', { reason: 'conflict' }).shows(DONE)).toEqual(['A10 false duplicate'])
  })

  it('is none of what had its effect, or was marked without one, or is done as a person says', () => {
    expect(handled().tells('duplicate', 'm').shows(DONE)).toEqual([])
    const failed = sent().claims('A1', 'm').marks('A1', 'm', { without: 'failure' }).tells('duplicate', 'm')
    expect(failed.shows(DONE)).toEqual([])
    const parked = sent().claims('A1', 'm').setsAside('A1', 'm', { as: 'parked' })
    expect(parked.decides('m', 'done').tells('duplicate', 'm').shows(DONE)).toEqual([])
  })

  it('is none of what joined a delivery that was under way', () => {
    expect(sent().tells('joined', 'm').effects('A1', 'm').marks('A1', 'm').shows(DONE)).toEqual([])
  })
})

describe('A12 phantom', () => {
  it('is the effect of what nobody sent, or not with this payload', () => {
    expect(new Tale().effects('A1', 'm').marks('A1', 'm').shows(DONE)).toEqual(['A12 phantom'])
    const other = sent().effects('A1', 'm', { print: 'other' }).deadLetters('q#1', { reason: 'conflict' })
    expect(other.marks('A1', 'm').shows(DONE)).toEqual(['A12 phantom'])
  })

  it('is what a handler wrote that failed', () => {
    const tale = sent().claims('A1', 'm').starts('A1', 'm').ends('A1', 'm', 'failed').effects('A1', 'm', { kind: 'tx' })
    expect(tale.marks('A1', 'm').shows(DONE)).toEqual(['A12 phantom'])
  })

  it('is none of what nobody confirmed, or is confirmed later', () => {
    const unconfirmed = new Tale().sends('q#1', 'm', { type: 'info' }).effects('A1', 'm').marks('A1', 'm')
    expect(unconfirmed.shows(DONE)).toEqual([])
    expect(new Tale().effects('A1', 'm').marks('A1', 'm').sends('q#1', 'm').shows(DONE)).toEqual([])
  })
})

describe('A14 dead letter and effect', () => {
  const GIVEN = { end: { records: { m: 'given-up' } } } as const

  it('is an effect of what is dead-lettered as given up, whichever came first', () => {
    expect(gaveUp().effects('A1', 'm').shows(GIVEN)).toEqual(['A14 dead letter and effect'])
    const first = sent().claims('A1', 'm').effects('A1', 'm').setsAside('A1', 'm').deadLetters('q#1')
    expect(first.shows(GIVEN)).toEqual(['A14 dead letter and effect'])
  })

  it('is none where it is parked: that is in doubt', () => {
    const tale = sent().claims('A1', 'm').effects('A1', 'm').setsAside('A1', 'm', { as: 'parked' })
    expect(tale.deadLetters('q#1', { parked: true }).shows({ end: { records: { m: 'parked' } } })).toEqual([])
  })

  it('is none for a dead letter of what no handler was given, nor for one that was never confirmed', () => {
    const conflict = new Tale().sends('q#1', 'm').handles('q#1', 'm', 'A1').sends('q#2', 'm', { print: 'other' })
    expect(conflict.deadLetters('q#2', { reason: 'conflict' }).shows(DONE)).toEqual([])
    const schema = sent().claims('A1', 'm').deadLetters('q#1', { reason: 'schema' }).effects('A1', 'm').marks('A1', 'm')
    expect(schema.shows(DONE)).toEqual([])
    const unconfirmed = sent()
      .claims('A1', 'm')
      .deadLetters('q#1', { type: 'info' })
      .effects('A1', 'm')
      .marks('A1', 'm')
    expect(unconfirmed.shows(DONE)).toEqual([])
  })

  it('is none where a person reopened it, or the store lost its record in between', () => {
    expect(handledByB(gaveUp().decides('m', 'reopen')).shows(DONE)).toEqual([])
    expect(handledByB(gaveUp().loses('m')).shows(DONE)).toEqual([])
  })

  it('is one where a person reopened it, it ran, and was given up once more', () => {
    const tale = gaveUp().decides('m', 'reopen').claims('B1', 'm').effects('B1', 'm').setsAside('B1', 'm')
    expect(tale.deadLetters('q#1').shows(GIVEN)).toEqual(['A14 dead letter and effect'])
  })
})
