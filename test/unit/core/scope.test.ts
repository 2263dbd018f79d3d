import { describe, expect, it } from '@jest/globals'
import * as fc from 'fast-check'
import type { FormerNames } from '../../../src/consumer/former-names.ts'
import { keyScope, positionScope, scopeName } from '../../../src/consumer/scope.ts'
import { identityOf } from '../../../src/identity/digest.ts'

/** Made of the characters that the text of a scope uses, and a few others. */
const part = fc.string({ unit: fc.constantFrom('/', '%', '2', '5', 'F', 'a', 'é'), minLength: 1, maxLength: 6 })
const derived = fc.record({ scope: fc.constant(undefined), group: part, name: part })
const explicit = fc.record({ scope: part, group: fc.constant<string>('group'), name: fc.constant<string>('name') })
const scoped = fc.oneof(derived, explicit)
type Scoped = (typeof scoped)['generate'] extends (...args: never[]) => { value: infer S } ? S : never

const textOf = ({ group, ...consumer }: Scoped): string => scopeName(consumer, group)

describe('the text of a scope', () => {
  it('is another one for each scope', () => {
    fc.assert(
      fc.property(scoped, scoped, (one, other) => {
        const isSame = JSON.stringify(one) === JSON.stringify(other)
        expect(textOf(one) === textOf(other)).toBe(isSame)
      }),
      { numRuns: 20_000 },
    )
  })

  it.each([
    [{ scope: undefined, group: 'sms', name: 'sender' }, 'sms/sender'],
    [{ scope: 'sms', group: 'any', name: 'any' }, 'sms'],
    [{ scope: undefined, group: 'g/b', name: 'c' }, 'g%2Fb/c'],
    [{ scope: undefined, group: 'g', name: 'b/c' }, 'g/b%2Fc'],
    [{ scope: 'g/b', group: 'any', name: 'any' }, 'g%2Fb'],
    [{ scope: undefined, group: '100%', name: 'a' }, '100%25/a'],
  ])('keeps ordinary names as they are: %j is %s', (given, text) => {
    expect(textOf(given)).toBe(text)
  })
})

/** With the key of order-17. */
function namesOf(
  scope: string | FormerNames | undefined,
  [name, group, origin]: readonly [name: string, group: string, origin: string],
): Readonly<Record<string, string>> {
  const consumer = { name, scope }
  const { key } = identityOf(keyScope(consumer, group, origin), Buffer.from('order-17'))
  const position = identityOf(positionScope(consumer, group), Buffer.from('17')).key
  return { key, position, text: scopeName(consumer, group) }
}

describe('keys', () => {
  // Keys that are in the stores of users: this must never change.
  const kept = { key: 'U1nmhO_WlHMIQdRLsEpnZw', position: '6IAXH1BIz3nuSzBp2KnFFQ', text: 'sms/sms-sender' }

  it('of a consumer without a scope, or with a text, are those of 0.1', () => {
    expect(namesOf(undefined, ['sms-sender', 'sms', 'sms'])).toEqual(kept)
    expect(namesOf('text', ['sms-sender', 'sms', 'sms'])).toEqual({
      key: 'huUbKV3k_b2zeryenjAtMQ',
      position: '4cO9VegrWZmvZbf8LH6gSA',
      text: 'text',
    })
  })

  it.each<[what: string, scope: FormerNames, now: readonly [name: string, group: string, origin: string]]>([
    ['its name', { name: 'sms-sender' }, ['texts', 'sms', 'sms']],
    ['its group', { group: 'sms' }, ['sms-sender', 'sms-2', 'sms']],
    ['its group, to the name of its topic', { group: 'sms' }, ['sms-sender', 'texts', 'sms']],
    ['its topic', { topics: { 'sms.v2': 'sms' } }, ['sms-sender', 'sms', 'sms.v2']],
    ['its topic, of a copy from before', { topics: { 'sms.v2': 'sms' } }, ['sms-sender', 'sms', 'sms']],
    ['its queue', { queue: 'sms' }, ['sms-sender', 'sms.quorum', 'sms.quorum']],
    ['its queue, of a copy from before', { queue: 'sms' }, ['sms-sender', 'sms.quorum', 'sms']],
    ['all', { name: 'sms-sender', group: 'sms', topics: { t: 'sms' } }, ['texts', 'texts', 't']],
    ['nothing yet', { name: 'sms-sender', group: 'sms', topics: { sms: 'sms' } }, ['sms-sender', 'sms', 'sms']],
  ])('stay when %s is renamed and the scope has the former names', (_what, scope, now) => {
    expect(namesOf(scope, now)).toEqual(kept)
  })

  it('of another topic stay its own, whatever it is called', () => {
    const scope = { topics: { 'sms.v2': 'sms' } }
    for (const topic of ['calls', 'constructor', '__proto__']) {
      const now = ['sms-sender', 'sms', topic] as const
      expect(namesOf(scope, now)).toEqual(namesOf(undefined, now))
    }
  })
})
