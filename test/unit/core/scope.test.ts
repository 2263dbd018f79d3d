import { describe, expect, it } from '@jest/globals'
import * as fc from 'fast-check'
import { scopeName } from '../../../src/consumer/scope.ts'

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
