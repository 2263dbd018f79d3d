import { ConfigError } from './errors.ts'
import { nearestTo } from './near-name.ts'
import { LONGEST_TIMER_MS, type NamesOf } from './options.ts'
import { isPlainText, shown, shownText } from './shown.ts'

export type { NamesOf } from './options.ts'
export { isPlainText, shown, shownText } from './shown.ts'

/** Formats a value in a problem. */
export type Show = (value: unknown) => string

/** The options of a function. */
export interface KnownNames<Given extends object> {
  /** Who takes them, as one calls it: `redrive()`, `new MemoryBroker()`. */
  readonly of: string
  /** A property for every option: an option of the type that is missing here does not compile. */
  readonly known: { readonly [Name in NamesOf<Given>]-?: unknown }
  /** Names that belong elsewhere, or were renamed, with the text to show instead. @defaultValue none */
  readonly misplaced?: Readonly<Record<string, string>>
}

/**
 * Refuses unknown option names: without this check a misspelt option would silently leave its default in force. Every
 * public function with options calls it, for their nested objects too (`test/package/options` finds one that does not).
 *
 * @param place - prefix of each name in a problem, such as `retry.`; empty for a top-level option
 * @param problems - problems are added here, so that one `ConfigError` can report all of them
 */
export function checkNames<Given extends object>(
  place: string,
  given: Given,
  { of, known, misplaced = {} }: KnownNames<NoInfer<Given>>,
  problems: string[],
): void {
  const instead = NO_OBJECTS.get(given)
  if (instead !== undefined) {
    problems.push(`${place.replace(/\.$/, '') || 'options'}: expected an object, got ${instead}`)
  }
  const names = Object.keys(known)
  let expected = `; expected one of ${names.join(', ')}`
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(known, name)) continue
    if (Object.hasOwn(misplaced, name)) {
      problems.push(`${place}${name}: ${misplaced[name]} (${of} has no such option)`)
      continue
    }
    const nearest = nearestTo(name, names)
    const hint = nearest === undefined ? expected : `; did you mean ${nearest}?`
    problems.push(`${place}${name}: unknown option of ${of}${hint}`)
    // The names are listed once.
    if (nearest === undefined) expected = ''
  }
}

/**
 * The options that have a value, for a function with nothing else to report at once. No options are none.
 * @throws ConfigError `CONFIG_INVALID` for an unknown name
 */
export function knownOptions<Given extends object>(given: Given | undefined, names: KnownNames<NoInfer<Given>>): Given {
  const problems: string[] = []
  const options = givenOf<Given>(given as Given)
  checkNames<Given>('', options, names, problems)
  if (problems.length > 0) throw new ConfigError(problems)
  return options
}

/**
 * Refuses a value that is not a whole number from 1 to `most`, including `undefined`.
 *
 * @param problems - problems are added here
 * @param options - `most`:
 * @defaultValue 2^53 - 1. `show`: formats the value.
 * @defaultValue text in quotes, all else by `String`
 */
export function checkWhole(
  name: string,
  value: unknown,
  problems: string[],
  {
    most = Number.MAX_SAFE_INTEGER,
    or = '',
    show = shown,
  }: { readonly most?: number; readonly or?: string; readonly show?: Show } = {},
): void {
  if (Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) <= most) return
  const upTo = most === Number.MAX_SAFE_INTEGER ? '' : ` to ${most}`
  problems.push(`${name}: expected a whole number from 1${upTo}${or}, got ${show(value)}`)
}

/**
 * Refuses an option that is not a whole number from 1. One named `…Ms` is a time that a timer waits for, but for retentions:
 * Node runs a timer that is longer at once.
 *
 * @param problems - problems are added here
 */
export function checkNumber(name: string, value: unknown, problems: string[]): void {
  if (
    name.endsWith('Ms') &&
    name !== 'retentionMs' &&
    Number.isSafeInteger(value) &&
    Number(value) > LONGEST_TIMER_MS
  ) {
    problems.push(`${name}: expected at most ${LONGEST_TIMER_MS} (24.8 days, the longest timer), got ${shown(value)}`)
  } else {
    checkWhole(name, value, problems)
  }
}

/**
 * Refuses a value that is not in `expected`. `undefined` is allowed only if it is in `expected`.
 *
 * @param problems - problems are added here
 * @param show - formats all values.
 * @defaultValue the expected ones bare, the actual one as JSON
 */
export function checkOneOf(
  name: string,
  value: unknown,
  expected: readonly unknown[],
  problems: string[],
  show?: Show,
): void {
  if (expected.includes(value)) return
  const got = show === undefined ? JSON.stringify(value) : show(value)
  problems.push(`${name}: expected ${expected.map(show ?? String).join(', ')}, got ${got}`)
}

/**
 * Refuses a name that cannot be stored safely: a value that is not text, blank text, control characters (Postgres
 * stores no NUL), lone surrogates, and direction marks, with which two different names can look the same.
 *
 * @param problems - problems are added here
 */
export function checkText(name: string, value: unknown, problems: string[]): void {
  if (typeof value !== 'string' || value.trim() === '') {
    problems.push(`${name}: expected text, got ${shownText(value)}`)
  } else if (!isPlainText(value)) {
    problems.push(
      `${name}: expected text without control characters, direction marks and lone surrogates, got ${shownText(value)}`,
    )
  }
}

/**
 * Returns `value` if it is an object. Otherwise adds a problem and returns an empty object.
 *
 * @param problems - problems are added here
 */
export function checkObject<T extends object>(name: string, value: T, problems: string[]): Partial<T> {
  if (typeof value === 'object' && value !== null) return value
  problems.push(`${name}: expected an object, got ${JSON.stringify(value)}`)
  return {}
}

/**
 * Refuses a value that is not a list: a text has a length and letters, and would be taken for none or for several.
 *
 * @returns the entries, none if it is no list or `undefined`
 * @param problems - problems are added here
 */
export function checkList<T>(name: string, value: readonly T[] | undefined, problems: string[]): readonly T[] {
  if (Array.isArray(value)) return value as readonly T[]
  if (value !== undefined) problems.push(`${name}: expected a list, got ${shown(value)}`)
  return []
}

/** Refuses a value that is not a function. @param problems - problems are added here */
export function checkFunction(name: string, value: unknown, problems: string[]): void {
  if (typeof value !== 'function') problems.push(`${name}: expected a function, got ${typeof value}`)
}

/**
 * The options that have a value; none for `undefined`, and later checks report what is missing. Callers without types may pass
 * something that is not an object: then none, and `checkNames()` says so.
 */
export function givenOf<T extends object>(options: T): T {
  const given: unknown = options
  const isObject = typeof given === 'object' && given !== null
  const found = withoutUndefined<T>(isObject ? given : {})
  // Without its value: the address of a server has a password.
  if (!isObject && given !== undefined) NO_OBJECTS.set(found, given === null ? 'null' : `a ${typeof given}`)
  return found
}

/** What was given in place of an object, by what `givenOf()` made of it. */
const NO_OBJECTS = new WeakMap<object, string>()

/** The properties that have a value. An `undefined` would hide the default in a spread, and some clients refuse it. */
export function withoutUndefined<T extends object>(properties: { readonly [K in keyof T]?: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(properties).filter(([, value]) => value !== undefined)) as T
}
