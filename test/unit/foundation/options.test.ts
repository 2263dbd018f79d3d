import { describe, expect, it } from '@jest/globals'
import {
  either,
  ELSEWHERE,
  flag,
  func,
  having,
  listOf,
  matching,
  millis,
  needed,
  object,
  oneOf,
  optionsOf,
  or,
  plainText,
  whole,
  type AnyRule,
  type Table,
} from '../../../src/foundation/options.ts'
import { ConfigError } from '../../../src/foundation/errors.ts'

interface Options {
  readonly keys: readonly string[]
  readonly canary?: number
  readonly retryWaits?: 'here' | 'caller'
  readonly retentionMs?: number
  readonly leaseMs?: number
  readonly waitMs?: number
  readonly when?: string
  readonly backoff?: { readonly maxMs?: number }
}

const TABLE: Table<Options, 'when' | 'canary'> = {
  keys: needed(listOf(plainText())),
  canary: whole(),
  retryWaits: or('here', oneOf('here', 'caller')),
  retentionMs: or(7, whole()),
  leaseMs: or(5, millis({ least: 2, most: 9 }, 'it is short')),
  waitMs: or(5, millis()),
  when: plainText(),
  backoff: or({ maxMs: 3 }, object<{ readonly maxMs?: number }, never>({ maxMs: or(3, millis()) })),
  [ELSEWHERE]: { retry: 'it is now called retryWaits' },
}

function problemsOf(given: object): readonly string[] {
  try {
    optionsOf('f', TABLE, { keys: [], ...given })
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}

function told(_: unknown, problems: string[]): void {
  problems.push('a: b')
}

function problemOf(rule: AnyRule, value: unknown): string | undefined {
  const problems: string[] = []
  rule.read(value, { name: 'x', problems })
  return problems.length > 1 ? problems.join(' and ') : problems[0]
}

describe('the options of a function', () => {
  it('have their defaults, also those inside of others, and nothing else', () => {
    expect(optionsOf('f', TABLE, { keys: ['a'], waitMs: 1, backoff: {} })).toEqual({
      keys: ['a'],
      canary: undefined,
      retryWaits: 'here',
      retentionMs: 7,
      leaseMs: 5,
      waitMs: 1,
      when: undefined,
      backoff: { maxMs: 3 },
    })
    expect(problemsOf({ when: undefined, unknown: undefined })).toEqual([])
  })

  it.each([
    ['a letter too few', 'key', 'keys'],
    ['another letter', 'canery', 'canary'],
    ['other letters in capitals', 'leasems', 'leaseMs'],
    ['the nearest of several', 'weitMs', 'waitMs'],
    ['the beginning of one name', 'retention', 'retentionMs'],
    ['one name with more behind it', 'canaryCount', 'canary'],
  ])('are asked for with %s whether the known name was meant', (_what, given, meant) => {
    expect(problemsOf({ [given]: 1 })).toEqual([`f: ${given}: unknown option; did you mean ${meant}?`])
  })

  it('are listed once where none is near, or two are as near', () => {
    expect(problemsOf({ colour: 1, flavour: 1 })).toEqual([
      `f: colour: unknown option; expected one of ${Object.keys(TABLE).join(', ')}`,
      'f: flavour: unknown option',
    ])
  })

  it('have a place for a name that belongs elsewhere, or was renamed', () => {
    expect(problemsOf({ retry: 'caller' })).toEqual(['f: retry: it is now called retryWaits'])
  })

  it('are told with all that is wrong, in their own words and with the reason', () => {
    expect(problemsOf({ keys: 'ab', leaseMs: 1, backoff: { maxMS: 1, maxMs: 0 }, retryWaits: 'there' })).toEqual([
      'f: keys: expected a list, got "ab"',
      'f: retryWaits: expected "here" or "caller", got "there"',
      'f: leaseMs: expected a whole number from 2 to 9, got 1: it is short',
      'f: backoff.maxMS: unknown option; did you mean maxMs?',
      'f: backoff.maxMs: expected a whole number from 1 to 2147483647 (24.8 days, the longest timer), got 0',
    ])
  })

  it.each([null, 'redis://:secret@host', 5])('are an object, not %j, whose value is not told', (given) => {
    expect(() => optionsOf('f', TABLE, given as never)).toThrow(
      /f: options: expected an object, got (null|a string|a number)\n/,
    )
  })

  it('are compared with each other only if each by itself is right', () => {
    expect(() => optionsOf('f', TABLE, { keys: [], waitMs: 0 }, told)).toThrow(/^f: waitMs: [^\n]*$/)
    expect(() => optionsOf('f', TABLE, { keys: [] }, told)).toThrow(/^f: a: b$/)
  })
})

describe('a rule', () => {
  const many = either(
    func(),
    listOf(plainText(), { least: 1, most: 2 }),
    object<{ readonly n: number }, never>({ n: needed(whole()) }),
  )

  it.each<readonly [AnyRule, unknown, string | undefined]>([
    [whole(), 2 ** 53, 'x: expected a whole number from 1, got 9007199254740992'],
    [whole(), 4n, 'x: expected a whole number from 1, got 4'],
    [plainText(), ' \u00A0', 'x: expected text, got " \u00A0"'],
    [
      plainText(),
      'sms\u202Erednes',
      String.raw`x: expected text without control characters, direction marks and lone surrogates, got "sms\u202erednes"`,
    ],
    [
      plainText(),
      '\ud800',
      String.raw`x: expected text without control characters, direction marks and lone surrogates, got "\ud800"`,
    ],
    [
      plainText(),
      'a\u2066b',
      String.raw`x: expected text without control characters, direction marks and lone surrogates, got "a\u2066b"`,
    ],
    [plainText({ most: 2 }), 'abc', 'x: expected text of 1 to 2 characters, got "abc"'],
    [plainText(), 'отправка смс 🎉/№%', undefined],
    [matching('a digit', /^\d$/), 1, 'x: expected a digit, got 1'],
    [flag(), 'yes', 'x: expected true or false, got "yes"'],
    [func(), {}, 'x: expected a function, got an object'],
    [having('a logger', 'warn', 'error'), { warn: () => {} }, 'x: expected a logger, got one without error'],
    [having('a client', 'get'), 'redis://:secret@host', 'x: expected a client, got string'],
    [having('a client', 'get'), null, 'x: expected a client, got null'],
    [many, ['a', ''], 'x[1]: expected text, got ""'],
    [many, [], 'x: expected a list of 1 to 2, got none'],
    [many, { n: 0, m: 1 }, 'x.m: unknown option; expected one of n and x.n: expected a whole number from 1, got 0'],
    [many, 5, 'x: expected a function or a list of 1 to 2 or { n }, got 5'],
    [many, () => {}, undefined],
  ])('%# says what is wrong', (rule, value, problem) => {
    expect(problemOf(rule, value)).toBe(problem)
  })
})
