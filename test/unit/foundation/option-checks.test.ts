import { describe, expect, it } from '@jest/globals'
import { checkNames } from '../../../src/foundation/option-checks.ts'

const KNOWN = { keys: true, canary: true, retryWaits: true, retentionMs: true, leaseMs: true, waitMs: true, when: true }

function problemsOf(given: object): readonly string[] {
  const problems: string[] = []
  const misplaced = { retry: 'it is now called retryWaits' }
  checkNames<Record<keyof typeof KNOWN, unknown>>('', given as never, { of: 'f()', known: KNOWN, misplaced }, problems)
  return problems
}

describe('checkNames', () => {
  it.each([
    ['a letter too few', 'key', 'keys'],
    ['another letter', 'canery', 'canary'],
    ['other letters in capitals', 'leasems', 'leaseMs'],
    ['the nearest of several', 'weitMs', 'waitMs'],
    ['the beginning of one name', 'retention', 'retentionMs'],
    ['one name with more behind it', 'canaryCount', 'canary'],
  ])('asks for %s whether the known name was meant', (_what, given, meant) => {
    expect(problemsOf({ [given]: 1 })).toEqual([`${given}: unknown option of f(); did you mean ${meant}?`])
  })

  it('lists the known names once where none is near, or two are as near', () => {
    const list = `; expected one of ${Object.keys(KNOWN).join(', ')}`
    expect(problemsOf({ colour: 1, flavour: 1 })).toEqual([
      `colour: unknown option of f()${list}`,
      'flavour: unknown option of f()',
    ])
  })

  it('says where a name belongs, or what it is called now', () => {
    expect(problemsOf({ retry: 'caller' })).toEqual(['retry: it is now called retryWaits (f() has no such option)'])
  })

  it('takes every known name', () => {
    expect(problemsOf(KNOWN)).toEqual([])
  })
})
