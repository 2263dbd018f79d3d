import { describe, expect, it } from '@jest/globals'
import type { LiveEntry } from '../../../dashboard/api.ts'
import { storyOf } from '../../../dashboard/ui/story.ts'

const NOW = 1_700_000_000_000
const PLACE = { consumer: 'sms', key: 'k', system: 'kafka', destination: 'sms', origin: 'sms', position: '3@1204' }

describe('the story of a message', () => {
  it('ends with whether the message went out', () => {
    expect(last('done')).toMatch(/^It went out/)
    expect(last('parked')).toMatch(/^It may have gone out/)
    expect(last('in-doubt')).toMatch(/^It may have gone out/)
    expect(last('given-up')).toMatch(/^It did not go out/)
    expect(last('released')).toMatch(/^It did not go out yet/)
    expect(last('absent')).toMatch(/there is no record/)
    expect(last('unreadable')).toMatch(/^Nobody can tell/)
  })

  it('names the attempts, the last error, when and why it was given up', () => {
    const entries: readonly LiveEntry[] = [
      { ...PLACE, type: 'attempt-failed', at: NOW - 9_000, attempt: 1, detail: 'Error: 503', retryInMs: 2_000 },
      { ...PLACE, type: 'delivery', at: NOW - 5_000, outcome: 'dead-lettered', reason: 'handler-failed' },
    ]
    const record = {
      state: 'given-up',
      attempt: 2,
      since: NOW - 5_000,
      reason: 'handler-failed',
      cause: 'Error: no such number',
    } as const
    const text = storyOf(record, entries, NOW).join('\n')
    expect(text).toContain('Attempt 1 failed (Error: 503), to be tried again after 2 s.')
    // A failed attempt is not a delivery: what follows it is the first.
    expect(text).toContain('Delivered from sms/3/1204: it went to the dead letters, reason handler-failed')
    expect(text).toContain('The last error was: Error: no such number')
    expect(text).toContain('it was given up 5 s ago')
    expect(text).toContain('after 2 attempts')
  })

  it('says of a further delivery that it was delivered again', () => {
    const delivery: LiveEntry = { ...PLACE, type: 'delivery', at: NOW, outcome: 'handled' }
    const [first, second] = storyOf({ state: 'done' }, [delivery, { ...delivery, outcome: 'duplicate' }], NOW)
    expect(first).toContain('Delivered from sms/3/1204 and handled')
    expect(second).toContain('Delivered again from sms/3/1204: a duplicate')
  })
})

function last(state: Parameters<typeof storyOf>[0]['state']): string {
  return storyOf({ state }, [], NOW).at(-1) ?? ''
}
