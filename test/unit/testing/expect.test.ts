import { describe, expect, it } from '@jest/globals'
import { expect as lawExpect } from '../../../testing/contract/expect.ts'

class Held {
  readonly at: number
  constructor(at: number) {
    this.at = at
  }
}

const VALUES: readonly unknown[] = [
  undefined,
  null,
  0,
  '',
  'done',
  1n,
  Number.NaN,
  [],
  ['done'],
  ['done', 'done'],
  {},
  { verdict: 'done' },
  { verdict: 'done', result: undefined },
  { verdict: 'done', result: null },
  { verdict: 'parked', claim: { key: 'a', attempt: 1 } },
  { claim: { key: 'a' } },
  { claim: {} },
  [{ verdict: 'done' }],
  new Map([['a', 1n]]),
  new Map([['a', 2n]]),
  new Set(['done']),
  new Held(1),
  new Held(2),
]

const PAIRS = VALUES.flatMap((got) => VALUES.map((expected) => [got, expected] as const))

describe('the expect of the laws', () => {
  it("toBe agrees with Jest's own about every pair of values", () => {
    for (const [got, expected] of PAIRS) {
      const ours = holds(() => lawExpect(got).toBe(expected))
      const jests = holds(() => expect(got).toBe(expected))
      expect([got, expected, ours]).toStrictEqual([got, expected, jests])
    }
  })

  it("toEqual agrees with Jest's own about every pair of values", () => {
    for (const [got, expected] of PAIRS) {
      const ours = holds(() => lawExpect(got).toEqual(expected))
      const jests = holds(() => expect(got).toEqual(expected))
      expect([got, expected, ours]).toStrictEqual([got, expected, jests])
    }
  })

  it("toMatchObject agrees with Jest's own about every pair of objects", () => {
    for (const [got, expected] of PAIRS) {
      if (!isObject(got) || !isObject(expected)) continue
      const ours = holds(() => lawExpect(got).toMatchObject(expected))
      const jests = holds(() => expect(got).toMatchObject(expected))
      expect([got, expected, ours]).toStrictEqual([got, expected, jests])
    }
  })

  it.each([
    [() => lawExpect(['done']).toEqual(['busy']), "expected [ 'busy' ], got [ 'done' ]"],
    [() => lawExpect('marked').toMatch(/^refused/), "expected a text like /^refused/, got 'marked'"],
    [() => lawExpect(1).toBeGreaterThan(1), 'expected more than 1, got 1'],
    [() => lawExpect(2).toBeAtMost(1), 'expected at most 1, got 2'],
    [() => lawExpect(['a']).toContain('b'), "expected a list with 'b', got [ 'a' ]"],
    [() => lawExpect(['a']).notToContain('a'), "expected a list without 'a', got [ 'a' ]"],
    [() => lawExpect('ab').toHaveLength(2), "expected a list of length 2, got 'ab'"],
    [() => lawExpect({ a: 1 }).toMatchObject({ a: 2 }), 'expected something with { a: 2 }, got { a: 1 }'],
  ])('says what it expected, and what it got (%#)', (check, message) => {
    expect(check).toThrow(expect.objectContaining({ message, code: 'ERR_ASSERTION' }))
  })

  it('says nothing of what is so', () => {
    lawExpect('refused-busy').toMatch(/^refused/)
    lawExpect(2).toBeGreaterThan(1)
    lawExpect(1).toBeAtMost(1)
    lawExpect(['a']).toContain('a')
    lawExpect(['a']).notToContain('b')
    lawExpect(['a']).toHaveLength(1)
    expect(holds(() => lawExpect(['a']).toHaveLength(2))).toBe(false)
  })
})

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function holds(check: () => void): boolean {
  try {
    check()
    return true
  } catch {
    return false
  }
}
