import { describe, expect, it } from '@jest/globals'
import { Tale } from './tale.ts'

const DONE = { end: { records: { m: 'done' } } } as const
const EFFECT = 'A4a effect without mark'

const sent = (): Tale => new Tale().sends('q#1', 'm').delivers('q#1')

/** Claimed by A, whose lease ended, and taken over by B. */
function takenOver(): Tale {
  return sent().claims('A1', 'm').passes(100).claims('B1', 'm', { verdict: 'taken-over', fence: 2, attempt: 2 })
}

const markedByB = (): Tale => takenOver().effects('B1', 'm').marks('B1', 'm')
const effected = (): Tale => sent().claims('A1', 'm').effects('A1', 'm')
const markedUntil = (until: number): Tale => effected().marks('A1', 'm', { until })
const handled = (tale: Tale, token: string): Tale => tale.effects(token, 'm').marks(token, 'm')
/** Another payload under the same ID is claimed, and given up. */
const otherFails = (tale: Tale): Tale =>
  tale
    .sends('q#2', 'm', { print: 'other' })
    .claims('B1', 'm', { print: 'other' })
    .setsAside('B1', 'm')
    .deadLetters('q#2')
const triedTwice = (): Tale => sent().claims('A1', 'm').releases('A1', 'm').claims('A2', 'm', { attempt: 2 })

describe('A5 stale write', () => {
  it('is whatever a late owner writes over the record of another', () => {
    expect(takenOver().renews('A1', 'm').effects('B1', 'm').marks('B1', 'm').shows(DONE)).toEqual(['A5 stale write'])
    expect(takenOver().releases('A1', 'm').effects('B1', 'm').marks('B1', 'm').shows(DONE)).toEqual(['A5 stale write'])
    expect(takenOver().effects('B1', 'm').marks('A1', 'm').shows(DONE)).toEqual(['A5 stale write'])
    const aside = takenOver().setsAside('A1', 'm').deadLetters('q#1')
    expect(aside.shows({ end: { records: { m: 'given-up' } } })).toEqual(['A5 stale write'])
  })

  it('is a second mark by another, and any write over a mark', () => {
    expect(markedByB().marks('A1', 'm').shows(DONE)).toEqual(['A5 stale write'])
    expect(markedByB().setsAside('B1', 'm').shows(DONE)).toEqual(['A5 stale write'])
  })

  it('is a claim granted while a lease holds, and none from the moment on at which it ends', () => {
    const held = sent().claims('A1', 'm', { until: 50 })
    expect(held.claims('B1', 'm').effects('B1', 'm').marks('B1', 'm').shows(DONE)).toEqual(['A5 stale write'])
    const ended = sent().claims('A1', 'm', { until: 3 }).claims('B1', 'm', { verdict: 'taken-over', attempt: 2 })
    expect(ended.effects('B1', 'm').marks('B1', 'm').shows(DONE)).toEqual([])
  })

  it('is a claim granted while a lease holds that was renewed', () => {
    const tale = sent().claims('A1', 'm', { until: 50 }).renews('A1', 'm', 90).passes(60).claims('B1', 'm')
    expect(tale.effects('B1', 'm').marks('B1', 'm').shows(DONE)).toEqual(['A5 stale write'])
  })

  it('is a claim granted over what is done, given up or parked', () => {
    const done = sent().claims('A1', 'm').effects('A1', 'm').marks('A1', 'm').claims('B1', 'm')
    expect(done.shows(DONE)).toEqual(['A5 stale write'])
    expect(markedUntil(900).claims('B1', 'm').effects('B1', 'm').marks('B1', 'm').shows(DONE)).toEqual([
      'A5 stale write',
      'A2 duplicate accepted',
    ])
    for (const as of ['given-up', 'parked'] as const) {
      const aside = sent().claims('A1', 'm').setsAside('A1', 'm', { as }).claims('B1', 'm').effects('B1', 'm')
      expect(aside.marks('B1', 'm').shows(DONE)).toEqual(['A5 stale write'])
    }
  })

  it('is none where retention has ended', () => {
    const tale = sent().claims('A1', 'm').setsAside('A1', 'm', { until: 10 }).deadLetters('q#1').passes(10)
    expect(
      tale
        .claims('B1', 'm')
        .releases('B1', 'm')
        .shows({ end: { records: { m: 'released' } } }),
    ).toEqual([])
  })

  it('is none where the late owner was refused: what the store refused is no event', () => {
    const tale = takenOver().marks('A1', 'm', { type: 'invoke' }).effects('B1', 'm').marks('B1', 'm')
    expect(tale.marks('A1', 'm', { type: 'fail' }).shows(DONE)).toEqual([])
  })

  it('is no mark on a record that was lost, released, given up or parked: nobody owns it', () => {
    expect(effected().loses('m').marks('A1', 'm').shows(DONE)).toEqual([])
    const by = (): Tale => effected().passes(100).claims('B1', 'm', { verdict: 'taken-over', attempt: 2 })
    expect(by().releases('B1', 'm').marks('A1', 'm').shows(DONE)).toEqual([])
    expect(by().setsAside('B1', 'm', { as: 'parked' }).marks('A1', 'm').shows(DONE)).toEqual([])
    expect(effected().setsAside('A1', 'm').marks('A1', 'm').shows(DONE)).toEqual([])
  })

  it('is no command that is sent again', () => {
    const claimed = sent().claims('A1', 'm').claims('A1', 'm').releases('A1', 'm').releases('A1', 'm')
    const marked = claimed.claims('A2', 'm', { attempt: 2 }).effects('A2', 'm').marks('A2', 'm').marks('A2', 'm')
    expect(marked.shows(DONE)).toEqual([])
    const aside = sent().claims('A1', 'm').setsAside('A1', 'm').setsAside('A1', 'm').deadLetters('q#1')
    expect(aside.shows({ end: { records: { m: 'given-up' } } })).toEqual([])
  })
})

describe('A4a effect without mark', () => {
  it('is an effect whose record says nothing of it at the end', () => {
    expect(
      effected()
        .releases('A1', 'm')
        .shows({ end: { records: { m: 'released' } } }),
    ).toEqual([EFFECT])
    expect(effected().shows()).toEqual([EFFECT])
  })

  it('is none while its message lies in the broker still', () => {
    const end = { isDrained: false, unsettled: ['q#1'], records: { m: 'released' } } as const
    expect(effected().releases('A1', 'm').shows({ end })).toEqual(['L1 stall'])
  })

  it('is none for what is parked, or was lost by the store, or let run again by a person', () => {
    const parked = effected().setsAside('A1', 'm', { as: 'parked' }).deadLetters('q#1', { parked: true })
    expect(parked.shows({ end: { records: { m: 'parked' } } })).toEqual([])
    const notDeadLettered = effected().setsAside('A1', 'm', { as: 'parked' }).acks('q#1')
    expect(notDeadLettered.shows({ end: { records: { m: 'parked' } } })).toEqual(['A3 settle before mark'])
    expect(effected().marks('A1', 'm').loses('m').shows()).toEqual([])
    expect(effected().marks('A1', 'm').loses().shows()).toEqual([])
    expect(
      effected()
        .marks('A1', 'm')
        .decides('m', 'forget')
        .shows({ end: { records: { m: 'released' } } }),
    ).toEqual([])
  })

  it('is none where retention has ended, and one a moment before', () => {
    expect(markedUntil(50).shows({ end: { at: 50 } })).toEqual([])
    expect(markedUntil(50).shows({ end: { at: 49 } })).toEqual([EFFECT])
  })

  // Seed 191375.
  it('is none where retention has ended and the record was granted to another payload, and one where it had not', () => {
    const end = { records: { m: 'given-up' } } as const
    expect(otherFails(markedUntil(50).passes(50)).shows({ end })).toEqual([])
    expect(otherFails(markedUntil(900).passes(50)).shows({ end })).toEqual(['A5 stale write', EFFECT])
    expect(otherFails(effected().passes(200)).shows({ end })).toContain(EFFECT)
  })
})

describe('A4b mark without effect', () => {
  it('is a record that is done without anything having been done', () => {
    const tale = sent().claims('A1', 'm').marks('A1', 'm').acks('q#1')
    expect(tale.shows(DONE)).toEqual(['A1 lost', 'A4b mark without effect'])
  })

  it('is also one that nobody is known to have written', () => {
    expect(new Tale().shows({ end: { records: { ghost: 'done' } } })).toEqual(['A4b mark without effect'])
  })

  it('is none where the store lost the record, or the message lies in the dead-letter place', () => {
    const lost = sent().claims('A1', 'm').loses('m').marks('A1', 'm')
    expect(lost.shows(DONE)).toEqual(['A1 lost'])
    const passed = sent().claims('A1', 'm').setsAside('A1', 'm').deadLetters('q#1')
    expect(passed.shows(DONE)).toEqual([])
  })

  it('is none where the mark says so', () => {
    const failure = sent().claims('A1', 'm').marks('A1', 'm', { without: 'failure' }).acks('q#1')
    expect(failure.shows(DONE)).toEqual([])
  })
})

describe('A13 unknown as failure', () => {
  it('is a release of what may be marked', () => {
    const tale = sent().claims('A1', 'm').effects('A1', 'm').marks('A1', 'm', { type: 'invoke' })
    const again = tale.releases('A1', 'm', { type: 'invoke' }).releases('A1', 'm').claims('B1', 'm', { attempt: 2 })
    expect(again.marks('B1', 'm').shows(DONE)).toEqual(['A13 unknown as failure'])
  })

  it('is none where the mark was refused, or asked again', () => {
    const tale = sent().claims('A1', 'm').effects('A1', 'm').marks('A1', 'm', { type: 'invoke' })
    tale.marks('A1', 'm', { type: 'fail' }).releases('A1', 'm').claims('A2', 'm', { attempt: 2 })
    expect(
      tale.marks('A2', 'm', { type: 'invoke' }).marks('A2', 'm', { type: 'invoke' }).marks('A2', 'm').shows(DONE),
    ).toEqual([])
  })

  it('is an attempt that nobody made', () => {
    const tale = sent().claims('B1', 'm', { verdict: 'busy' }).claims('A1', 'm', { attempt: 2 })
    expect(handled(tale, 'A1').shows(DONE)).toEqual(['A13 unknown as failure'])
  })

  it('is an attempt that was given back and counted all the same', () => {
    const tale = sent().claims('A1', 'm').releases('A1', 'm', { refund: true }).claims('A2', 'm', { attempt: 2 })
    expect(handled(tale, 'A2').shows(DONE)).toEqual(['A13 unknown as failure'])
  })

  it('is an attempt that was counted before the store lost the record, or a person let it run again', () => {
    const lost = sent().claims('A1', 'm').loses('m').claims('A2', 'm', { attempt: 2 })
    expect(handled(lost, 'A2').shows(DONE)).toEqual(['A13 unknown as failure'])
    const rerun = sent().claims('A1', 'm').setsAside('A1', 'm').decides('m', 'reopen').claims('A2', 'm', { attempt: 2 })
    expect(handled(rerun, 'A2').shows(DONE)).toEqual(['A13 unknown as failure'])
  })

  it('is none where attempts go on over releases and take-overs, or a claim is sent again', () => {
    const tale = sent().claims('A1', 'm').claims('A1', 'm').releases('A1', 'm').claims('A2', 'm', { attempt: 2 })
    expect(
      handled(tale.passes(100).claims('B1', 'm', { verdict: 'taken-over', attempt: 3 }), 'B1').shows(DONE),
    ).toEqual([])
  })

  it('is a plain claim of what is in doubt, or to give it up', () => {
    const plain = sent().claims('A1', 'm').passes(100).claims('B1', 'm', { attempt: 2 })
    expect(handled(plain, 'B1').shows(DONE)).toEqual(['A13 unknown as failure'])
    const released = sent().claims('A1', 'm').releases('A1', 'm', { doubt: true }).claims('A2', 'm', { attempt: 2 })
    expect(handled(released, 'A2').shows(DONE)).toEqual(['A13 unknown as failure'])
    const given = takenOver().setsAside('B1', 'm').deadLetters('q#1')
    expect(given.shows({ end: { records: { m: 'given-up' } } })).toEqual(['A13 unknown as failure'])
  })

  it('is a release without doubt by whose handler may have had its effect', () => {
    const tale = sent().claims('A1', 'm').starts('A1', 'm').ends('A1', 'm', 'unknown').releases('A1', 'm')
    const again = tale.claims('A2', 'm', { attempt: 2 })
    expect(handled(again, 'A2').shows(DONE)).toEqual(['A13 unknown as failure'])
  })

  it('is to give up for spent attempts before they are', () => {
    const spent = { reason: 'attempts-spent' }
    const given = { end: { records: { m: 'given-up' } } } as const
    const early = triedTwice().setsAside('A2', 'm', spent).deadLetters('q#1', spent)
    expect(early.shows(given)).toEqual(['A13 unknown as failure'])
    const right = triedTwice().releases('A2', 'm').claims('A3', 'm', { attempt: 3 }).setsAside('A3', 'm', spent)
    expect(right.deadLetters('q#1', spent).shows(given)).toEqual([])
  })
})

describe('L2 stuck lease', () => {
  const held = { isDrained: false, unsettled: ['q#1'], records: { m: 'processing' } } as const

  it('is a record that is processing when its lease has long ended', () => {
    expect(
      sent()
        .claims('A1', 'm', { until: 100 })
        .shows({ end: { ...held, at: 200 } }),
    ).toEqual(['L1 stall', 'L2 stuck lease'])
  })

  it('is none while the lease holds, as claimed or as renewed', () => {
    expect(
      sent()
        .claims('A1', 'm', { until: 200 })
        .shows({ end: { ...held, at: 200 } }),
    ).toEqual(['L1 stall'])
    const renewed = sent().claims('A1', 'm', { until: 100 }).renews('A1', 'm', 300)
    expect(renewed.shows({ end: { ...held, at: 200 } })).toEqual(['L1 stall'])
  })

  it('is none where the store lost the record of what was done, and a late claim made another', () => {
    const tale = sent().claims('A1', 'm').effects('A1', 'm').marks('A1', 'm').acks('q#1').loses('m').claims('B1', 'm')
    expect(tale.crashes('B').shows({ end: { at: 900, records: { m: 'processing' } } })).toEqual([])
  })
})
