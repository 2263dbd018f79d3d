import { describe, expect, it } from '@jest/globals'
import type { HistoryEvent } from '../../testing/history.ts'
import { unmet } from './demands.ts'
import { ABORTED, ASKS_TO_STOP, LATER_ATTEMPT } from './settings.ts'

const SUBJECT = 'group:target'
const ABOUT = { subject: SUBJECT, places: ['queue#0'] }
const [LEASE_MS, MARGIN_MS] = [1_000, 200]

const claimed: HistoryEvent = {
  at: 0,
  proc: 'redis',
  f: 'claim',
  type: 'ok',
  subject: SUBJECT,
  token: 't',
  until: LEASE_MS,
}
const renewed: HistoryEvent = {
  at: 500,
  proc: 'redis',
  f: 'renew',
  type: 'ok',
  subject: SUBJECT,
  token: 't',
  until: 2 * LEASE_MS,
}
const abortedAt = (at: number): HistoryEvent => ({ at, proc: 'w1', f: 'tell', what: ABORTED, subject: SUBJECT })
const begunBy = (proc: string, subject: string): HistoryEvent => ({ at: 0, proc, f: 'hstart', subject, token: proc })
const TOLD_TO_STOP: HistoryEvent = { at: 0, proc: 'w1', f: 'call', type: 'invoke', call: 'stop', number: 0 }
const again = (subject: string): HistoryEvent => ({ at: 1, proc: 'w2', f: 'tell', what: LATER_ATTEMPT, subject })
const CRASH: HistoryEvent = { at: 1, proc: 'w1', f: 'crash' }

describe('the demands of a cell', () => {
  it.each<[what: string, events: readonly HistoryEvent[], failures: readonly string[]]>([
    ['before the lease ends', [claimed, abortedAt(LEASE_MS - MARGIN_MS)], []],
    ['before the renewed lease ends', [claimed, renewed, abortedAt(2 * LEASE_MS - MARGIN_MS)], []],
    ['too late', [claimed, abortedAt(LEASE_MS + 35)], ['the signal aborted 35 ms after the lease had ended']],
    ['never', [claimed], ['expected the signal to abort']],
  ])('are met only by a signal that aborts before the lease in the store ends: it aborts %s', (_, events, failures) => {
    expect(unmet({ mustAbortInTime: true }, events, ABOUT)).toEqual(failures)
  })

  it('fail if a handler starts too often', () => {
    const events = [begunBy('w1', SUBJECT), begunBy('w2', SUBJECT), begunBy('w2', 'group:other')]
    expect(unmet({ mostRuns: 1 }, events, ABOUT)).toEqual(['expected 1 runs at most, found 2'])
    expect(unmet({ mostRuns: 2 }, events, ABOUT)).toEqual([])
  })

  it('count only messages that ran before a crash as running together after it', () => {
    const demands = { mustRunTogether: 2 }
    const before = [begunBy('w1', SUBJECT), begunBy('w1', 'group:other'), CRASH]
    const alone = [...before, begunBy('w2', SUBJECT), begunBy('w2', 'group:new')]
    expect(unmet(demands, alone, ABOUT)).toHaveLength(1)
    expect(unmet(demands, [...before, begunBy('w2', SUBJECT), begunBy('w2', 'group:other')], ABOUT)).toEqual([])
  })

  it('fail if any message runs too often', () => {
    const events = [begunBy('w1', SUBJECT), begunBy('w1', 'group:other'), begunBy('w2', 'group:other')]
    const failures = ['expected 1 runs of group:other at most, found 2']
    expect(unmet({ mostRunsOfEach: 1 }, events, ABOUT)).toEqual(failures)
    expect(unmet({ mostRunsOfEach: 2 }, events, ABOUT)).toEqual([])
  })

  it('fail if a worker begins a handler after it was told to stop, or was never told', () => {
    const demands = { beginsNothingAfterStop: true }
    const [before, told] = [begunBy('w1', SUBJECT), TOLD_TO_STOP]
    expect(unmet(demands, [before, told, begunBy('w2', 'group:other')], ABOUT)).toEqual([])
    const failures = ['w1 began group:other after it was told to stop']
    expect(unmet(demands, [before, told, begunBy('w1', 'group:other')], ABOUT)).toEqual(failures)
    expect(unmet(demands, [before], ABOUT)).toEqual(['expected a worker to be told to stop'])
  })

  it('fail if an attempt is not given back, except that of the handler that asked for the stop', () => {
    const asked: HistoryEvent = { at: 0, proc: 'w1', f: 'tell', what: ASKS_TO_STOP, subject: SUBJECT }
    const butOne = { givesAttemptsBack: 'all but the one that asked' } as const
    const failures = [`expected the attempt of ${SUBJECT} to be given back`]
    expect(unmet({ givesAttemptsBack: 'all' }, [asked, again(SUBJECT)], ABOUT)).toEqual(failures)
    expect(unmet(butOne, [asked, again(SUBJECT)], ABOUT)).toEqual([])
    expect(unmet(butOne, [asked, again('group:other')], ABOUT)).toHaveLength(1)
  })

  it('fail if a dead letter carries another reason', () => {
    const deadLetter = { at: 0, proc: 'w1', f: 'copy', type: 'ok', place: 'queue#0', to: 'dead-letter' } as const
    const events: readonly HistoryEvent[] = [{ ...deadLetter, parked: true, reason: 'conflict' }]
    const failures = unmet({ reason: 'record-unreadable' }, events, ABOUT)
    expect(failures).toEqual(['expected a dead letter for record-unreadable, found conflict'])
  })
})
