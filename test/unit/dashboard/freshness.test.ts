import { describe, expect, it } from '@jest/globals'
import type { CountsAnswer, LiveAnswer } from '../../../dashboard/api.ts'
import { clockTime } from '../../../dashboard/format.ts'
import { freshnessOf, type Known } from '../../../dashboard/ui/freshness.ts'

const NOW = 1_700_000_000_000
const OFFSET = 5_000
const down = { status: 503, code: 'STORE_UNREACHABLE', message: 'no answer within 3 s' }
const consumers = [
  { id: 'g/sms', name: 'sms' },
  { id: 'g/mail', name: 'mail' },
] as unknown as Known['session']['consumers']

const none = { data: undefined, at: undefined, failure: undefined, waitingSince: () => undefined }

function liveOf(...instances: readonly object[]): Known['live'] {
  return { ...none, data: { now: NOW, instances } as unknown as LiveAnswer, at: NOW - OFFSET - 1_000 }
}

function counts(...of: readonly object[]): Known['counts'] {
  return { ...none, data: { now: NOW, consumers: of } as unknown as CountsAnswer, at: NOW - OFFSET - 1_000 }
}

function told(known: Partial<Known>): readonly [string, string] {
  const session = { hasLive: false, consumers }
  const { tone, text } = freshnessOf({ session, live: none, counts: none, now: NOW, clockOffset: OFFSET, ...known })
  return [tone, text]
}

const good = { consumer: 'g/sms', counts: {}, at: NOW, error: undefined }
const silent = { consumer: 'g/mail', counts: undefined, at: NOW - 60_000, error: down }

describe('what the bar says of what is shown', () => {
  it('is that it is up to date, if everybody has answered', () => {
    expect(told({ counts: counts(good) })).toEqual(['good', 'up to date'])
    expect(told({})).toEqual(['none', 'loading'])
  })

  it('is since when a store has not answered, also one of many, by the clock of the server', () => {
    const since = clockTime(NOW - 60_000)
    expect(told({ counts: counts(good, silent) })).toEqual(['alarm', `no answer since ${since}`])
    expect(told({ counts: counts({ ...silent, at: undefined }) })).toEqual(['alarm', 'no answer yet'])
    const session = { hasLive: true, consumers }
    const live = liveOf()
    expect(told({ session, live, counts: counts(good) })).toEqual(['good', 'live'])
    expect(told({ session, live, counts: counts(silent) })).toEqual(['alarm', `no answer since ${since}`])
  })

  it('is since when no process of a consumer has answered', () => {
    const session = { hasLive: true, consumers }
    const gone = { name: 'a', state: 'unreachable', error: 'refused', snapshot: { at: NOW - 30_000, consumers: [] } }
    const live = liveOf(gone)
    expect(told({ session, live, counts: counts(good) })).toEqual([
      'alarm',
      `no answer since ${clockTime(NOW - 30_000)}`,
    ])
  })

  it('is since when the server of the dashboard has not answered, and the last answer while one is late', () => {
    const failure = { message: 'no answer' }
    const last = clockTime(NOW - 1_000)
    expect(told({ counts: { ...counts(good), failure } })).toEqual(['alarm', `no answer since ${last}`])
    const waitingSince = (): number => NOW - OFFSET - 3_500
    expect(told({ counts: { ...counts(good), waitingSince } })).toEqual(['watch', `last answer ${last}`])
    expect(told({ counts: { ...counts(good), waitingSince: () => NOW - OFFSET - 500 } })[0]).toBe('good')
  })
})
