import { AssertionError } from 'node:assert'
import { inspect, isDeepStrictEqual } from 'node:util'

/** The part of the usual `expect` that the laws use, so that they need no test runner. Throws an `AssertionError`. */
export function expect(got: unknown): Expectation {
  return {
    toBe: (expected) => assert(Object.is(got, expected), got, expected),
    toEqual: (expected) => assert(isEqual(got, expected), got, expected),
    toMatchObject: (expected) => assert(isLike(got, expected), got, expected, 'something with '),
    toMatch: (expected) => assert(expected.test(String(got)), got, expected, 'a text like '),
    toBeGreaterThan: (expected) => assert(Number(got) > expected, got, expected, 'more than '),
    toBeAtMost: (expected) => assert(Number(got) <= expected, got, expected, 'at most '),
    toContain: (expected) => assert(includes(got, expected), got, expected, 'a list with '),
    notToContain: (expected) => assert(!includes(got, expected), got, expected, 'a list without '),
    toHaveLength: (expected) =>
      assert(Array.isArray(got) && got.length === expected, got, expected, 'a list of length '),
  }
}

interface Expectation {
  toBe(expected: unknown): void
  /** Deep comparison. A missing property equals `undefined`. */
  toEqual(expected: unknown): void
  /** Deep comparison of the named properties; others are ignored. */
  toMatchObject(expected: object): void
  toMatch(expected: RegExp): void
  toBeGreaterThan(expected: number): void
  toBeAtMost(expected: number): void
  toContain(expected: unknown): void
  notToContain(expected: unknown): void
  toHaveLength(expected: number): void
}

function assert(isSo: boolean, actual: unknown, expected: unknown, relation = ''): void {
  if (isSo) return
  const message = `expected ${relation}${shown(expected)}, got ${shown(actual)}`
  throw new AssertionError({ message, actual, expected, operator: 'deepEqual', stackStartFn: expect })
}

/** On one line. The contents of a claim's transaction are not helpful. */
function shown(value: unknown): string {
  return inspect(value, { depth: 1, compact: true, breakLength: Infinity, maxStringLength: 200, maxArrayLength: 20 })
}

function isEqual(got: unknown, expected: unknown): boolean {
  if (Array.isArray(got) && Array.isArray(expected)) {
    return got.length === expected.length && got.every((one, at) => isEqual(one, expected[at]))
  }
  if (!isPlain(got) || !isPlain(expected)) return isDeepStrictEqual(got, expected)
  const names = new Set([...Object.keys(got), ...Object.keys(expected)])
  return [...names].every((name) => isEqual(got[name], expected[name]))
}

function isLike(got: unknown, expected: unknown): boolean {
  if (Array.isArray(got) && Array.isArray(expected)) {
    return got.length === expected.length && got.every((one, at) => isLike(one, expected[at]))
  }
  if (!isPlain(expected) || typeof got !== 'object' || got === null) return isEqual(got, expected)
  return Object.entries(expected).every(([name, value]) => name in got && isLike(Reflect.get(got, name), value))
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}

function includes(got: unknown, expected: unknown): boolean {
  return Array.isArray(got) && got.includes(expected)
}
