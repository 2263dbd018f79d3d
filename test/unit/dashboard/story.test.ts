import { describe, expect, it } from '@jest/globals'
import type { LiveEntry } from '../../../dashboard/api.ts'
import { adviceOf } from '../../../src/people/advice.ts'
import { redriveRefOf, refOf } from '../../../src/people/command-text.ts'
import { storyOf } from '../../../dashboard/server/message/story.ts'
import { verdictsOf, type Known } from '../../../dashboard/server/message/verdict.ts'

const NOW = 1_700_000_000_000
const PLACE = { consumer: 'sms', key: 'k', system: 'kafka', destination: 'sms', origin: 'sms', position: '3@1204' }
const CONFLICT: LiveEntry = {
  ...PLACE,
  position: '3@1300',
  type: 'delivery',
  at: NOW - 4_000,
  outcome: 'dead-lettered',
  reason: 'conflict',
}

describe('the verdict on a message', () => {
  it('says whether it went out', () => {
    expect(textOf({ state: 'done' })).toMatch(/^It went out.*Every further copy is stopped/)
    expect(textOf({ state: 'parked' })).toMatch(/^It may have gone out/)
    expect(textOf({ state: 'in-doubt' })).toMatch(/^It may have gone out/)
    expect(textOf({ state: 'given-up' })).toMatch(/^It did not go out/)
    expect(textOf({ state: 'released' })).toMatch(/^It did not go out yet/)
    expect(textOf({ state: 'absent' })).toMatch(/there is no record/)
    expect(textOf({ state: 'unreadable' })).toMatch(/^Nobody can tell/)
  })

  it('does not say of what its handler skipped that it went out', () => {
    const skipped: LiveEntry = { ...PLACE, type: 'delivery', at: NOW - 5_000, outcome: 'skipped', detail: 'opted out' }
    const duplicate: LiveEntry = { ...PLACE, type: 'delivery', at: NOW, outcome: 'duplicate' }
    expect(textOf({ state: 'done' }, [skipped, duplicate])).toMatch(
      /^It did not go out: its handler skipped it \(opted out\).*Every further copy is stopped/,
    )
    expect(textOf({ state: 'absent' }, [skipped])).toMatch(/^It did not go out: .* its handler skipped it 5 s ago/)
    const [unknown] = verdictsOf({ state: 'done', maxAttempts: 5 }, [duplicate], NOW)
    expect(unknown?.details).toEqual([expect.stringContaining('whether its handler skipped it')])
    const handled: LiveEntry = { ...duplicate, outcome: 'handled' }
    expect(verdictsOf({ state: 'done', maxAttempts: 5 }, [handled], NOW)[0]?.details).toEqual([])
  })

  it('names when, why and after how many attempts it was given up, with the last error', () => {
    const told = { since: NOW - 5_000, attempt: 2, reason: 'attempts-spent', cause: 'Error: 503' } as const
    const [verdict] = verdictsOf({ state: 'given-up', maxAttempts: 2, ...told }, [], NOW)
    expect(verdict?.tone).toBe('alarm')
    expect(verdict?.text).toContain('it was given up 5 s ago')
    expect(verdict?.text).toContain('after 2 attempts, reason attempts-spent')
    expect(verdict?.details).toEqual(['The last error was: Error: 503'])
  })

  it('says of a retry how many attempts are spent, when the next begins, and what follows the last', () => {
    const failed: LiveEntry = { ...PLACE, type: 'attempt-failed', at: NOW - 1_000, attempt: 16, detail: 'Error: 429' }
    const entries = [{ ...failed, retryInMs: 31_000 }]
    for (const state of ['released', 'processing'] as const) {
      const [verdict] = verdictsOf({ state, attempt: 16, maxAttempts: 20 }, entries, NOW)
      expect(verdict?.text).toContain('16 of 20 attempts are spent. It runs again in 30 s')
      expect(verdict?.details).toEqual([
        'The last error was: Error: 429',
        'If attempt 20 fails too, it is given up: no copy runs, and the dead letters have it.',
      ])
    }
    const begun = textOf({ state: 'processing', attempt: 17, maxAttempts: 20 }, entries)
    expect(begun).toContain('It is being handled now, attempt 17 of 20')
  })

  it('tells of a record that is gone what a process remembers', () => {
    const handled: LiveEntry = { ...PLACE, type: 'delivery', at: NOW - 5_000, outcome: 'handled' }
    expect(textOf({ state: 'absent' }, [handled])).toMatch(/^It went out: .* handled 5 s ago\. .* runs AGAIN/)
    const duplicate: LiveEntry = { ...handled, outcome: 'duplicate' }
    expect(textOf({ state: 'absent' }, [handled, duplicate])).toMatch(
      /^It went out: .* a duplicate of what was handled/,
    )
    const refused: LiveEntry = { ...handled, outcome: 'dead-lettered', reason: 'undecodable' }
    expect(textOf({ state: 'absent' }, [refused])).toMatch(
      /^It did not go out: .* dead letters 5 s ago, reason undecodab/,
    )
  })

  it('does not say of what a person reopened that it was tried', () => {
    expect(textOf({ state: 'released', attempt: 0 })).toMatch(
      /^It did not go out yet\. It is open, and runs at its next/,
    )
  })

  it('tells first of another message with the same ID, which did not go out', () => {
    const [conflict, first] = verdictsOf({ state: 'done', maxAttempts: 5 }, [CONFLICT, CONFLICT], NOW)
    expect(conflict?.tone).toBe('alarm')
    expect(conflict?.text).toMatch(/^Conflict: another message .* 4 s ago, from sms\/3\/1300\. It did not go out/)
    expect(first?.text).toMatch(/^The first message with this ID went out/)
    expect(first?.text).not.toContain('Every further copy')
  })
})

describe('the advice on a message', () => {
  const consumer = { id: 'g/sms', name: 'sms', deadLetters: ['kafka:sms.dead-letter'] }
  const asked = {
    consumer,
    consumers: [consumer],
    message: { id: 'order 1', key: 'k', origin: undefined },
    isConflict: false,
  }

  it('never says to forget the record that a conflict met', () => {
    const advice = adviceOf({ state: 'done', reason: undefined }, { ...asked, isConflict: true })
    expect(advice.text).toContain('under an ID of its own')
    expect(advice.commands.map(({ text }) => text)).toEqual([])
  })

  it('sends back one message or all, and says that what was refused for good fails again', () => {
    expect(textsOf({ state: 'given-up', reason: 'attempts-spent' }, asked)).toEqual([
      `npx consume-once redrive sms 'order 1' --reason WHY`,
      'npx consume-once redrive sms --dry-run',
      'npx consume-once redrive sms --reason WHY',
    ])
    expect(adviceOf({ state: 'given-up', reason: 'attempts-spent' }, asked).text).toContain('Mend the cause')
    expect(adviceOf({ state: 'given-up', reason: 'handler-failed' }, asked).text).toContain('a redrive fails again')
  })

  it('says of what was reopened that its dead letter must be sent back, and of a retry that it goes on', () => {
    const reopened = adviceOf({ state: 'released', attempt: 0, reason: undefined }, asked)
    expect(reopened.text).toContain('its copy is in the dead letters')
    expect(reopened.commands[0]?.text).toContain(`redrive sms 'order 1' --reason WHY`)
    expect(adviceOf({ state: 'released', attempt: 1, reason: undefined }, asked).commands).toEqual([])
  })

  it('names the message by its key if that is all there is, and the consumer so that it is the only one', () => {
    const message = { id: undefined, key: '-abc', origin: undefined }
    const consumers = [consumer, { name: 'sms' }]
    expect(textsOf({ state: 'parked', reason: 'in-doubt' }, { ...asked, message, consumers })).toEqual([
      'npx consume-once resolve g/sms --done --reason WHY -abc',
      'npx consume-once resolve g/sms --rerun --reason WHY -abc',
    ])
  })
})

describe('a command that is printed', () => {
  const key = '-BzXr6VFt6cgv2-lX1XAx4'

  it('takes more options behind it: what begins with a hyphen goes by its key', () => {
    expect(refOf({ id: '-order', key, origin: 'sms' })).toBe(key)
    expect(refOf({ id: 'order', key, origin: 'sms' })).toBe('--origin sms order')
    expect(redriveRefOf({ id: '-order', key, origin: undefined })).toBe(key)
  })

  it('sends back only the message of one origin', () => {
    expect(redriveRefOf({ id: "o'1", key, origin: undefined })).toBe(String.raw`'o'\''1'`)
    expect(redriveRefOf({ id: 'order', key, origin: 'sms' })).toBe(key)
  })
})

describe('the story of a message', () => {
  it('names the attempts and what became of the delivery', () => {
    const [attempt, delivery] = storyOf([
      { ...PLACE, type: 'attempt-failed', at: NOW - 9_000, attempt: 1, detail: 'Error: 503', retryInMs: 2_000 },
      { ...PLACE, type: 'delivery', at: NOW - 5_000, outcome: 'dead-lettered', reason: 'handler-failed' },
    ])
    expect(attempt?.text).toContain('Attempt 1 failed (Error: 503), to be tried again after 2 s.')
    expect([attempt?.at, delivery?.at]).toEqual([undefined, 'sms/3/1204'])
    // A failed attempt is not a delivery: what follows it is the first.
    expect(delivery?.text).toContain('Delivered from sms/3/1204: it went to the dead letters, reason handler-failed')
  })

  it('says of a further delivery that it was delivered again', () => {
    const delivery: LiveEntry = { ...PLACE, type: 'delivery', at: NOW, outcome: 'handled' }
    const [first, second] = storyOf([delivery, { ...delivery, outcome: 'duplicate' }])
    expect(first?.text).toContain('Delivered from sms/3/1204 and handled')
    expect(second?.text).toContain('Delivered again from sms/3/1204: a duplicate')
  })

  it('says once what failed in the same way several times', () => {
    const sentences = storyOf([failure(1, '429'), failure(2, '429'), failure(3, '429'), failure(4, '503'), CONFLICT])
    expect(sentences).toHaveLength(3)
    expect(sentences[0]?.text).toContain('Attempts 1 to 3 failed (429)')
    expect(sentences[1]?.text).toContain('Attempt 4 failed (503)')
    expect(sentences[2]?.text).toContain('a conflict. It has the same ID and another payload')
  })
})

function textOf(told: Partial<Known> & Pick<Known, 'state'>, entries: readonly LiveEntry[] = []): string {
  return verdictsOf({ maxAttempts: 5, ...told }, entries, NOW)[0]?.text ?? ''
}

function textsOf(...given: Parameters<typeof adviceOf>): readonly string[] {
  return adviceOf(...given).commands.map(({ text }) => text)
}

function failure(attempt: number, detail: string): LiveEntry {
  return { ...PLACE, type: 'attempt-failed', at: NOW + attempt, attempt, detail }
}
