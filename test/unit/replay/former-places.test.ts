import { describe, expect, it } from '@jest/globals'
import type { ReplayPlaces, Subscription } from '../../../src/internal.ts'
import { formerDeadLetterPlaces, presentNames } from '../../../src/replay/former-places.ts'

function subscriptionOn(origins: readonly string[], deadLetters: readonly string[]): Subscription {
  const replay = { system: 'kafka', deadLetters } as unknown as ReplayPlaces
  return { group: 'g', origins, replay }
}

describe('former names', () => {
  const renamed = { scope: { topics: { 'sms.v2': 'sms' } } }

  it('lead to the present topic, and to where its dead letters went', () => {
    const subscription = subscriptionOn(['sms.v2', 'mails'], ['sms.v2.dead-letter', 'mails.dead-letter'])
    expect([...presentNames(renamed, subscription)]).toEqual([['sms', 'sms.v2']])
    expect(formerDeadLetterPlaces(renamed, subscription)).toEqual(['kafka:sms.dead-letter'])
  })

  it('lead nowhere else where the dead letters have a place with another name', () => {
    expect(formerDeadLetterPlaces(renamed, subscriptionOn(['sms.v2'], ['failed']))).toEqual([])
  })

  it('are none of a topic that is still read, of a scope that is a text, and of none', () => {
    const both = subscriptionOn(['sms.v2', 'sms'], ['sms.v2.dead-letter', 'sms.dead-letter'])
    expect(formerDeadLetterPlaces(renamed, both)).toEqual([])
    expect([...presentNames(renamed, both)]).toEqual([])
    for (const scope of ['sms', undefined]) expect([...presentNames({ scope }, both)]).toEqual([])
  })
})
