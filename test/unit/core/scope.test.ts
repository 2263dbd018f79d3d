import { describe, expect, it } from '@jest/globals'
import * as fc from 'fast-check'
import { findScopeRow, formerScope, scopeName, type ScopeRow } from '../../../src/consumer/scope.ts'

/** Made of the characters that the text of a scope uses, and a few others. */
const part = fc.string({ unit: fc.constantFrom('/', '%', '2', '5', 'F', 'a', 'é'), minLength: 1, maxLength: 6 })
const derived = fc.record({ scope: fc.constant(undefined), group: part, name: part })
const explicit = fc.record({ scope: part, group: fc.constant<string>('group'), name: fc.constant<string>('name') })
const scoped = fc.oneof(derived, explicit)
type Scoped = (typeof scoped)['generate'] extends (...args: never[]) => { value: infer S } ? S : never

const textOf = ({ group, ...consumer }: Scoped): string => scopeName(consumer, group)
const rowNamed = (name: string, isShared: boolean | null): ScopeRow => ({ id: 7, name, isShared })

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

  it('tells what an earlier version wrote for it', () => {
    fc.assert(
      fc.property(scoped, (given) => {
        expect(formerScope(textOf(given))).toBe(given.scope ?? `${given.group}/${given.name}`)
      }),
    )
  })
})

describe('the row of a scope', () => {
  it('is registered where there is none', () => {
    expect(findScopeRow('g/c', [])).toEqual({ step: 'register' })
    expect(findScopeRow('g%2Fb/c', [])).toEqual({ step: 'register' })
  })

  it.each([null, false, true])(
    'is the one of that name for an ordinary scope, also where isShared is %s',
    (isShared) => {
      expect(findScopeRow('g/c', [rowNamed('g/c', isShared)])).toEqual({ step: 'use', id: 7 })
    },
  )

  it.each([null, true])(
    'is shared where an earlier version may have written it for this scope, isShared %s',
    (isShared) => {
      expect(findScopeRow('g%2Fb/c', [rowNamed('g/b/c', isShared)])).toEqual({ step: 'share', id: 7, name: 'g/b/c' })
    },
  )

  it('is never that of a scope that has it for itself', () => {
    expect(findScopeRow('g%2Fb/c', [rowNamed('g/b/c', false)])).toEqual({ step: 'register' })
  })

  it('is the own one once it is there', () => {
    const rows = [rowNamed('g/b/c', true), { ...rowNamed('g%2Fb/c', false), id: 8 }]
    expect(findScopeRow('g%2Fb/c', rows)).toEqual({ step: 'use', id: 8 })
  })

  it('is refused where an earlier version wrote this text for another scope', () => {
    expect(findScopeRow('a%2Fb', [rowNamed('a%2Fb', null)])).toMatchObject({
      step: 'refuse',
      problem: expect.stringContaining('"a%252Fb"'),
    })
  })
})
