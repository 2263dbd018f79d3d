import type { DurationMs } from '../core/units.ts'
import { ConfigError } from './errors.ts'
import { nearestTo } from './near-name.ts'
import { isPlainText, shown } from './shown.ts'

/** The longest time that a timer of Node can wait: 24.8 days. It runs a longer one after 1 ms. */
const LONGEST_TIMER_MS: DurationMs = 2 ** 31 - 1

/** Where a value was given, and what is wrong so far. */
export interface Place {
  /** `retry.topics[0].delayMs`; a prefix such as `retry.` for the options of an object; empty for those of a function. */
  readonly name: string
  /** Problems are added here, so that one `ConfigError` can report all of them. */
  readonly problems: string[]
}

/** What the value of an option must be: its checks, its tests and its row in the docs come from here. */
export interface AnyRule {
  /** As a problem says it: `a whole number from 1 to 1000`. */
  readonly expected: string
  /** Adds a problem unless the value is right. @returns the value; of an object, with the defaults of its options */
  readonly read: (value: unknown, place: Place) => unknown
  /** Bounds of a number, or of the length of a text. */
  readonly least?: number
  readonly most?: number
  /** All that it may be. */
  readonly values?: readonly unknown[]
  /** Options inside of it. */
  readonly inside?: AnyTable
  /** Rules for the entries of a list: one of them must accept the value. */
  readonly rules?: readonly AnyRule[]
  readonly isNeeded?: true
  readonly default?: unknown
}

export interface Rule<T> extends AnyRule {
  /** Never there: the compiler compares `T` with the type of the option by it. */
  readonly type?: (value: T) => T
}

export interface Needed<T> extends Rule<T> {
  readonly isNeeded: true
}

export interface Defaulted<T> extends Rule<T> {
  readonly default: T
}

/** The names that an object of this type can have; of a union, those of all its members. */
export type NamesOf<Given> = Given extends unknown ? keyof Given : never

type ValueOf<Given, Name> = Given extends unknown
  ? Name extends keyof Given
    ? Exclude<Given[Name], undefined>
    : never
  : never

type IsOptional<Given, Name> = Given extends unknown
  ? Name extends keyof Given
    ? object extends Pick<Given, Name>
      ? true
      : false
    : true
  : never

/** Names that belong elsewhere, or were renamed, with the text to show instead. A property of a table. */
export const ELSEWHERE: unique symbol = Symbol('consume-once.elsewhere')

/**
 * A rule for every option of a type, and no other: a name that is missing here does not compile. `Without` names the
 * options that may be left out and have no default.
 */
export type Table<Given, Without extends NamesOf<Given> = never> = {
  readonly [Name in NamesOf<Given>]-?: [IsOptional<Given, Name>] extends [false]
    ? Needed<ValueOf<Given, Name>>
    : Name extends Without
      ? Rule<ValueOf<Given, Name>>
      : Defaulted<ValueOf<Given, Name>>
} & { readonly [ELSEWHERE]?: Readonly<Record<string, string>> }

export type AnyTable = Readonly<Record<string, AnyRule>> & { readonly [ELSEWHERE]?: Readonly<Record<string, string>> }

/** The options with their defaults. */
export type Complete<Given, Without extends NamesOf<Given> = never> = {
  readonly [Name in NamesOf<Given>]: Name extends Without ? ValueOf<Given, Name> | undefined : ValueOf<Given, Name>
}

/**
 * Reads the options of a function: refuses unknown names, which would silently leave a default in force, and wrong
 * values. No options are none. Every public function with options calls it (`test/package/options` finds one that does
 * not).
 *
 * @param of - how problems begin: the name of the function
 * @param relations - adds problems of options that do not fit together; called if each by itself is right
 * @throws ConfigError `CONFIG_INVALID`, with all problems at once
 */
export function optionsOf<Given, Without extends NamesOf<Given>>(
  of: string,
  table: Table<Given, Without>,
  given: NoInfer<Given> | undefined,
  relations?: (options: Complete<NoInfer<Given>, NoInfer<Without>>, problems: string[]) => void,
): Complete<Given, Without> {
  const problems: string[] = []
  const options = readOptions(table, given, { name: '', problems })
  if (problems.length === 0) relations?.(options, problems)
  refuse(of, problems)
  return options
}

/** @throws ConfigError `CONFIG_INVALID` if there are problems */
export function refuse(of: string, problems: readonly string[]): void {
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `${of}: ${problem}`))
}

/**
 * As `optionsOf`, for the options of an object inside of others. A value that is wrong is replaced by its default.
 *
 * @param place - its name is a prefix
 */
export function readOptions<Given, Without extends NamesOf<Given>>(
  table: Table<Given, Without>,
  given: NoInfer<Given> | undefined,
  place: Place,
): Complete<Given, Without> {
  const rules = table as unknown as AnyTable
  const values = checkNames(rules, given, place)
  // Not by assignments: an object that gets many properties one by one becomes a slow dictionary.
  return Object.fromEntries(
    Object.entries(rules).map(([name, rule]) => [
      name,
      readOption(rule, values[name], { ...place, name: `${place.name}${name}` }),
    ]),
  ) as Complete<Given, Without>
}

function readOption(rule: AnyRule, value: unknown, { name, problems }: Place): unknown {
  if (value === undefined && rule.isNeeded !== true) {
    // An object has the defaults of its own options.
    return rule.inside === undefined || rule.default === undefined
      ? rule.default
      : rule.read(rule.default, { name, problems })
  }
  const before = problems.length
  const read = rule.read(value, { name, problems })
  return problems.length === before ? read : rule.default
}

/** @returns the values by name; none if `given` is no object, which is a problem */
function checkNames(
  rules: AnyTable,
  given: unknown,
  { name: prefix, problems }: Place,
): Readonly<Record<string, unknown>> {
  if (given === undefined) return {}
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    // Without its value: the address of a server has a password.
    const got = given === null ? 'null' : Array.isArray(given) ? 'a list' : `a ${typeof given}`
    problems.push(`${prefix.replace(/\.$/, '') || 'options'}: expected an object, got ${got}`)
    return {}
  }
  const { [ELSEWHERE]: elsewhere = {} } = rules
  const names = Object.keys(rules)
  let expected = `; expected one of ${names.join(', ')}`
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || Object.hasOwn(rules, name)) continue
    if (Object.hasOwn(elsewhere, name)) {
      problems.push(`${prefix}${name}: ${elsewhere[name]}`)
      continue
    }
    const nearest = nearestTo(name, names)
    problems.push(`${prefix}${name}: unknown option${nearest === undefined ? expected : `; did you mean ${nearest}?`}`)
    // The names are listed once.
    if (nearest === undefined) expected = ''
  }
  return given as Readonly<Record<string, unknown>>
}

/** For `ELSEWHERE`. */
export function nowCalled(name: string): string {
  return `it is now called ${name}`
}

/** For `ELSEWHERE`: these names, with the place where they belong. */
export function placed(names: readonly string[], place: string): Readonly<Record<string, string>> {
  return Object.fromEntries(names.map((name) => [name, place]))
}

/** An option that must be given. */
export function needed<T>(rule: Rule<T>): Needed<T> {
  return { ...rule, isNeeded: true }
}

/** An option with a default. */
export function or<T>(usual: NoInfer<T>, rule: Rule<T>): Defaulted<T> {
  return { ...rule, default: usual }
}

/** @param problemOf - what is wrong with a value, as text */
export function judged<T>(
  expected: string,
  problemOf: (value: unknown) => string | undefined,
  more: Omit<AnyRule, 'expected' | 'read'> = {},
): Rule<T> {
  return {
    expected,
    ...more,
    read: (value, { name, problems }) => {
      const problem = problemOf(value)
      if (problem !== undefined) problems.push(`${name}: ${problem}`)
      return value
    },
  }
}

/** A value that is right where `isRight` says so. @param got - how a wrong one is shown */
export function where<T>(
  expected: string,
  isRight: (value: unknown) => boolean,
  { got = shown, ...more }: Omit<AnyRule, 'expected' | 'read'> & { readonly got?: (value: unknown) => string } = {},
): Rule<T> {
  return judged(expected, (value) => (isRight(value) ? undefined : `expected ${expected}, got ${got(value)}`), more)
}

interface Bounds {
  readonly least?: number
  readonly most?: number
}

/** From 1 unless bounds say otherwise. @param why - the reason for the bounds, behind a problem */
export function whole({ least = 1, most = Number.MAX_SAFE_INTEGER }: Bounds = {}, why?: string): Rule<number> {
  const upTo = most === Number.MAX_SAFE_INTEGER ? '' : ` to ${most}`
  const longest = most === LONGEST_TIMER_MS ? ' (24.8 days, the longest timer)' : ''
  const isRight = (value: unknown): boolean =>
    Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most
  return where(`a whole number from ${least}${upTo}${longest}`, isRight, {
    least,
    most,
    got: (value) => `${shown(value)}${why === undefined ? '' : `: ${why}`}`,
  })
}

/** Milliseconds that a timer waits for. */
export function millis(bounds: Bounds = {}, why?: string): Rule<DurationMs> {
  return whole({ most: LONGEST_TIMER_MS, ...bounds }, why)
}

/** Text that can be stored safely: not blank, without what a database cannot store, or with what two names look the same. */
export function plainText({ most }: { readonly most?: number } = {}): Rule<string> {
  const expected = most === undefined ? 'text' : `text of 1 to ${most} characters`
  const problemOf = (value: unknown): string | undefined => {
    if (typeof value !== 'string' || value.trim() === '' || value.length > (most ?? value.length)) {
      return `expected ${expected}, got ${shown(value)}`
    }
    if (isPlainText(value)) return undefined
    return `expected text without control characters, direction marks and lone surrogates, got ${shown(value)}`
  }
  return judged(expected, problemOf, most === undefined ? {} : { least: 1, most })
}

export function matching(expected: string, pattern: RegExp): Rule<string> {
  return where(expected, (value) => typeof value === 'string' && pattern.test(value))
}

export function oneOf<const V extends string | boolean>(...values: readonly V[]): Rule<V> {
  const texts = values.map(shown)
  const last = texts.pop()
  return where(
    texts.length === 0 ? `${last}` : `${texts.join(', ')} or ${last}`,
    (value) => values.includes(value as V),
    {
      values,
    },
  )
}

export function flag(): Rule<boolean> {
  return oneOf(true, false)
}

export function func<T>(expected = 'a function'): Rule<T> {
  return where(expected, (value) => typeof value === 'function')
}

/** An object, or a function, with these methods. @param expected - what makes one: `a logger such as pino()` */
export function having<T>(expected: string, ...methods: readonly string[]): Rule<T> {
  const missing = (value: unknown): readonly string[] => methods.filter((name) => !hasMethod(value, name))
  return where(expected, (value) => isThing(value) && missing(value).length === 0, {
    // A text may be the address of a server, with its password.
    got: (value) =>
      isThing(value) ? `one without ${missing(value).join(', ')}` : value === null ? 'null' : typeof value,
  })
}

export function hasMethod(value: unknown, name: string): boolean {
  return isThing(value) && typeof (value as Readonly<Record<string, unknown>>)[name] === 'function'
}

function isThing(value: unknown): boolean {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
}

/** Each entry by the rule. @param what - names the entries */
export function listOf<T, Ts extends readonly T[] = readonly T[]>(
  rule: Rule<T>,
  { least = 0, most = Number.MAX_SAFE_INTEGER, what = '' }: Bounds & { readonly what?: string } = {},
): Rule<Ts> {
  const bounds =
    most === Number.MAX_SAFE_INTEGER
      ? least === 0
        ? 'a list'
        : 'at least one, in a list'
      : `a list of ${least} to ${most}`
  const expected = what === '' ? bounds : `${bounds}, of ${what}`
  return {
    expected,
    rules: [rule],
    read: (value, { name, problems }) => {
      if (!Array.isArray(value) || value.length < least || value.length > most) {
        problems.push(`${name}: expected ${expected}, got ${shown(value)}`)
        return value
      }
      return value.map((entry, at) => rule.read(entry, { name: `${name}[${at}]`, problems }))
    },
  }
}

/** An object with options of its own. */
export function object<Given, Without extends NamesOf<Given>>(table: Table<Given, Without>): Rule<Given> {
  const inside = table as unknown as AnyTable
  return {
    expected: `{ ${Object.keys(inside).join(', ')} }`,
    inside,
    read: (value, { name, problems }) => readOptions(table, value as never, { name: `${name}.`, problems }),
  }
}

/** Reads nothing anew: the value is an instance, or is compared with others. */
export function asGiven<T>(rule: Rule<T>): Rule<T> {
  return {
    ...rule,
    read: (value, place) => {
      rule.read(value, place)
      return value
    },
  }
}

/** What one of the rules accepts. */
export function either<Ts extends readonly unknown[]>(
  ...given: { readonly [At in keyof Ts]: Rule<Ts[At]> }
): Rule<Ts[number]> {
  const rules: readonly AnyRule[] = given
  const expected = rules.map((rule) => rule.expected).join(' or ')
  return {
    expected,
    rules,
    read: (value, place) => {
      for (const rule of rules) {
        const problems: string[] = []
        const read = rule.read(value, { ...place, problems })
        if (problems.length === 0) return read
      }
      // An object or a list has problems of its own.
      const meant = rules.find(({ inside, rules: of }) =>
        Array.isArray(value) ? of !== undefined : inside !== undefined && typeof value === 'object' && value !== null,
      )
      if (meant !== undefined) return meant.read(value, place)
      place.problems.push(`${place.name}: expected ${expected}, got ${shown(value)}`)
      return value
    },
  }
}
