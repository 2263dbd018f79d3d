import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from '@jest/globals'
import { viewOf, type Command, type Decision, type MessageRecord } from '../../../src/core/record.ts'
import { transition } from '../../../src/core/transition.ts'

const NOW = 1_000
const CLAIM = { command: 'claim', token: 'mine', digest: 'd', leaseMs: 30, retentionMs: 500, alone: false } as const
const ALONE = { ...CLAIM, alone: true } as const
const MARK = { command: 'mark', token: 'mine', digest: 'd', fence: 9, retentionMs: 500 } as const
const RENEW = { command: 'renew', token: 'mine', leaseMs: 30 } as const
const RELEASE = { command: 'release', token: 'mine', refund: false, doubt: false } as const
const GIVE_UP = { command: 'set-aside', token: 'mine', as: 'given-up', reason: 'no' } as const
const PARK = { command: 'set-aside', token: 'mine', as: 'parked', reason: 'wait' } as const

const kept = { digest: 'd', fence: 4, keepUntil: NOW + 200 }
const held = { ...kept, state: 'processing', attempt: 2, doubt: false, leaseUntil: NOW + 10 } as const

/** Every state, as it looks to whoever holds the token `mine`. */
const RECORDS = {
  absent: { state: 'absent' },
  'held by me': { ...held, owner: 'mine' },
  'held by me, lease over': { ...held, owner: 'mine', leaseUntil: NOW },
  'held by me, in doubt': { ...held, owner: 'mine', doubt: true },
  'held by another': { ...held, owner: 'other' },
  'held by another, lease over': { ...held, owner: 'other', leaseUntil: NOW },
  'released by me': { ...kept, state: 'released', attempt: 2, doubt: false, owner: 'mine' },
  'released by another': { ...kept, state: 'released', attempt: 2, doubt: false, owner: 'other' },
  'released by another, in doubt': { ...kept, state: 'released', attempt: 2, doubt: true, owner: 'other' },
  'done by me': { ...kept, state: 'done', owner: 'mine' },
  'done by another': { ...kept, state: 'done', owner: 'other' },
  'given up by me': { ...kept, state: 'given-up', owner: 'mine', reason: 'why' },
  'given up by another': { ...kept, state: 'given-up', owner: 'other', reason: 'why' },
  'parked by me': { state: 'parked', digest: 'd', fence: 4, owner: 'mine', reason: 'why' },
  'parked by another': { state: 'parked', digest: 'd', fence: 4, owner: 'other', reason: 'why' },
} as const satisfies Readonly<Record<string, MessageRecord>>

type Situation = keyof typeof RECORDS

const claimed = (fence: number, attempt: number): object => ({ verdict: 'claimed', fence, attempt })
const takenOver = (fence: number, attempt: number): object => ({ verdict: 'taken-over', fence, attempt })
const told = (verdict: string): object => ({ verdict, reason: 'why' })
const busy = { verdict: 'busy', leaseLeftMs: 10 }
const inDoubt = { verdict: 'in-doubt' }
const done = { verdict: 'done' }

/** The whole protocol. Each row: claim, claim alone, renew, mark, release, give up, park. */
const PROTOCOL: Readonly<Record<Situation, readonly [object, object, string, string, string, string, string]>> = {
  absent: [claimed(1, 1), claimed(1, 1), 'lost', 'marked-late', 'refused', 'refused', 'refused'],
  'held by me': [claimed(4, 2), claimed(4, 2), 'renewed', 'marked', 'released', 'given-up', 'parked'],
  'held by me, lease over': [claimed(4, 2), claimed(4, 2), 'renewed', 'marked', 'released', 'given-up', 'parked'],
  'held by me, in doubt': [takenOver(4, 2), takenOver(4, 2), 'renewed', 'marked', 'released', 'parked', 'parked'],
  'held by another': [busy, busy, 'lost', 'refused-busy', 'refused', 'refused', 'refused'],
  'held by another, lease over': [inDoubt, takenOver(5, 3), 'lost', 'refused-busy', 'refused', 'refused', 'refused'],
  'released by me': [claimed(5, 3), claimed(5, 3), 'lost', 'marked-late', 'already-released', 'refused', 'refused'],
  'released by another': [claimed(5, 3), claimed(5, 3), 'lost', 'marked-late', 'refused', 'refused', 'refused'],
  'released by another, in doubt': [inDoubt, takenOver(5, 3), 'lost', 'marked-late', 'refused', 'refused', 'refused'],
  'done by me': [done, done, 'lost', 'already-marked', 'refused', 'refused', 'refused'],
  'done by another': [done, done, 'lost', 'refused-done', 'refused', 'refused', 'refused'],
  'given up by me': [told('given-up'), told('given-up'), 'lost', 'marked-late', 'refused', 'given-up', 'given-up'],
  'given up by another': [told('given-up'), told('given-up'), 'lost', 'marked-late', 'refused', 'refused', 'refused'],
  'parked by me': [told('parked'), told('parked'), 'lost', 'marked-late', 'refused', 'parked', 'parked'],
  'parked by another': [told('parked'), told('parked'), 'lost', 'marked-late', 'refused', 'refused', 'refused'],
}

/** What a person may decide. Each row: done, rerun, reopen, forget. */
const DECISIONS: Readonly<Record<Situation, readonly [string, string, string, string]>> = {
  absent: ['refused', 'already', 'already', 'already'],
  'held by me': ['refused', 'refused', 'refused', 'refused'],
  'held by me, lease over': ['decided', 'decided', 'refused', 'refused'],
  'held by me, in doubt': ['refused', 'refused', 'refused', 'refused'],
  'held by another': ['refused', 'refused', 'refused', 'refused'],
  'held by another, lease over': ['decided', 'decided', 'refused', 'refused'],
  'released by me': ['refused', 'refused', 'refused', 'refused'],
  'released by another': ['refused', 'refused', 'refused', 'refused'],
  'released by another, in doubt': ['decided', 'decided', 'refused', 'refused'],
  'done by me': ['already', 'refused', 'refused', 'decided'],
  'done by another': ['already', 'refused', 'refused', 'decided'],
  'given up by me': ['decided', 'decided', 'decided', 'refused'],
  'given up by another': ['decided', 'decided', 'decided', 'refused'],
  'parked by me': ['decided', 'decided', 'refused', 'refused'],
  'parked by another': ['decided', 'decided', 'refused', 'refused'],
}

const move = (record: MessageRecord, command: Command, now = NOW): ReturnType<typeof transition> =>
  transition<Command['command']>(record, command, now)

describe('transition', () => {
  describe.each(Object.entries(PROTOCOL))('of a record that is %s', (situation, verdicts) => {
    const record = RECORDS[situation as Situation]

    it('answers each command as the protocol says', () => {
      const commands = [CLAIM, ALONE, RENEW, MARK, RELEASE, GIVE_UP, PARK]
      expect(commands.map((command) => move(record, command).verdict)).toEqual(verdicts)
    })

    it('answers each decision as the protocol says', () => {
      const decisions = (['done', 'rerun', 'reopen', 'forget'] as const).map((decision) =>
        move(record, { command: 'decide', decision, retentionMs: 500 }),
      )
      expect(decisions.map(({ verdict }) => verdict)).toEqual(DECISIONS[situation as Situation])
    })

    it('answers conflict to another payload, and writes nothing, unless there is no record', () => {
      const conflict = { next: record, verdict: { verdict: 'conflict' } }
      const others = [CLAIM, ALONE].map((command) => move(record, { ...command, digest: 'e' }))
      expect(others.filter((moved) => isDeepStrictEqual(moved, conflict))).toHaveLength(
        record.state === 'absent' ? 0 : 2,
      )
    })

    it('compares an empty digest with no other', () => {
      for (const command of [CLAIM, ALONE]) {
        const { verdict } = move(record, command)
        expect(move(record, { ...command, digest: '' }).verdict).toEqual(verdict)
        const undigested: MessageRecord = record.state === 'absent' ? record : { ...record, digest: '' }
        expect(move(undigested, command).verdict).toEqual(verdict)
      }
    })
  })

  it('runs again what a person lets run, with its fence and all its attempts', () => {
    const open = { state: 'released', digest: 'd', fence: 4, attempt: 0, doubt: false, keepUntil: NOW + 500 }
    const rerun = { command: 'decide', decision: 'rerun', retentionMs: 500 } as const
    expect(move(RECORDS['parked by another'], rerun).next).toEqual({ ...open, owner: 'other' })
    expect(move(RECORDS['held by another, lease over'], rerun).next).toEqual({ ...open, owner: 'other' })
    expect(move(RECORDS['done by me'], { ...rerun, decision: 'forget' }).next).toEqual({ ...open, owner: 'mine' })
    expect(move(move(RECORDS['parked by another'], rerun).next, CLAIM).verdict).toEqual(claimed(5, 1))
  })

  it('shows a record as it is at its time', () => {
    expect(viewOf(RECORDS['held by another'], NOW)).toEqual({
      state: 'processing',
      digest: 'd',
      fence: 4,
      attempt: 2,
      leaseLeftMs: 10,
      keepUntil: NOW + 200,
    })
    expect(viewOf(RECORDS['held by another'], NOW + 10)).toMatchObject({ state: 'in-doubt', fence: 4, attempt: 2 })
    expect(viewOf(RECORDS['released by another'], NOW)).toMatchObject({ state: 'released', attempt: 2 })
    expect(viewOf(RECORDS['released by another, in doubt'], NOW)).toMatchObject({ state: 'in-doubt' })
    expect(viewOf({ ...RECORDS['done by me'], result: 'v1' }, NOW)).toMatchObject({ state: 'done', result: 'v1' })
    expect(viewOf(RECORDS['done by me'], NOW + 200)).toEqual({ state: 'absent' })
    expect(viewOf(RECORDS['given up by me'], NOW)).toMatchObject({ state: 'given-up', reason: 'why' })
    expect(viewOf(RECORDS['parked by me'], NOW)).toEqual({ state: 'parked', digest: 'd', fence: 4, reason: 'why' })
    expect(viewOf(RECORDS.absent, NOW)).toEqual({ state: 'absent' })
  })

  it('keeps the result of a mark, and hands it to every later claim', () => {
    const { next } = move(RECORDS['held by me'], { ...MARK, result: 'v1' })
    expect(move(next, CLAIM).verdict).toMatchObject({ verdict: 'done', result: 'v1' })
    expect(move(next, { ...MARK, result: 'v2' }).next).toBe(next)
  })

  it('tells every duplicate when it was marked, also after a mark that is sent again', () => {
    const { next } = move(RECORDS['held by me'], MARK)
    expect(move(next, CLAIM, NOW + 7).verdict).toEqual({ verdict: 'done', since: NOW })
    const again = move(next, MARK, NOW + 7)
    expect(again.verdict).toBe('already-marked')
    expect(viewOf(again.next, NOW + 7)).toMatchObject({ state: 'done', since: NOW })
  })

  it('takes the decision of a person that it is done, or its import, for the time of its mark', () => {
    const decide = (record: MessageRecord, decision: Decision): MessageRecord =>
      move(record, { command: 'decide', decision, retentionMs: 500 }, NOW + 3).next
    expect(decide(RECORDS['parked by me'], 'done')).toMatchObject({ state: 'done', since: NOW + 3 })
    expect(decide(RECORDS.absent, 'import')).toMatchObject({ state: 'done', since: NOW + 3 })
  })

  it('does not know the time of a mark that a store has not kept', () => {
    expect(move(RECORDS['done by me'], CLAIM).verdict).toEqual({ verdict: 'done' })
  })

  it('grants a claim until its lease ends, and keeps the record until retention does', () => {
    expect(move(RECORDS.absent, CLAIM).next).toEqual({
      state: 'processing',
      digest: 'd',
      fence: 1,
      attempt: 1,
      doubt: false,
      owner: 'mine',
      leaseUntil: NOW + 30,
      keepUntil: NOW + 500,
    })
  })

  it('starts a lease anew without touching retention', () => {
    expect(move(RECORDS['held by me'], RENEW).next).toEqual({ ...RECORDS['held by me'], leaseUntil: NOW + 30 })
  })

  it('counts the retention of done from its mark', () => {
    const marked = { state: 'done', digest: 'd', fence: 4, owner: 'mine', since: NOW, keepUntil: NOW + 500 }
    expect(move(RECORDS['held by me'], MARK).next).toEqual(marked)
    expect(move(RECORDS['parked by another'], MARK).next).toEqual(marked)
    expect(move(RECORDS.absent, MARK).next).toEqual({ ...marked, fence: 9 })
  })

  it('remembers fence, attempt and doubt in a release, and gives the attempt back when told', () => {
    const released = { ...kept, state: 'released', attempt: 2, doubt: false, owner: 'mine' }
    expect(move(RECORDS['held by me'], RELEASE).next).toEqual(released)
    expect(move(RECORDS['held by me'], { ...RELEASE, refund: true }).next).toEqual({ ...released, attempt: 1 })
    expect(move(RECORDS['held by me'], { ...RELEASE, doubt: true }).next).toEqual({ ...released, doubt: true })
    expect(move(RECORDS['held by me, in doubt'], RELEASE).next).toEqual({ ...released, doubt: true })
  })

  it('keeps what was given up for the rest of its retention, and what is parked for ever', () => {
    const aside = { digest: 'd', fence: 4, owner: 'mine', attempt: expect.any(Number), since: NOW }
    expect(move(RECORDS['held by me'], GIVE_UP).next).toEqual({
      ...aside,
      state: 'given-up',
      reason: 'no',
      keepUntil: NOW + 200,
    })
    expect(move(RECORDS['held by me, in doubt'], GIVE_UP).next).toEqual({ ...aside, state: 'parked', reason: 'no' })
    expect(move(RECORDS['parked by me'], ALONE, Number.MAX_SAFE_INTEGER).verdict).toEqual(told('parked'))
  })

  it.each(Object.keys(RECORDS).filter((name) => !/absent|parked/.test(name)))(
    'forgets what is %s when retention ends',
    (name) => {
      const record = RECORDS[name as Situation]
      expect(move(record, { ...CLAIM, digest: 'e' }, NOW + 199).verdict).toEqual({ verdict: 'conflict' })
      expect(move(record, { ...CLAIM, digest: 'e' }, NOW + 200).verdict).toEqual(claimed(1, 1))
    },
  )
})
