import type { DurationMs } from '../core/units.ts'
import { ConfigError } from './errors.ts'

/** The longest time that a timer of Node can wait: 24.8 days. It runs a longer one after 1 ms. */
export const LONGEST_TIMER_MS: DurationMs = 2 ** 31 - 1

/** Formats a value in a problem. */
export type Show = (value: unknown) => string

/** The names that an object of this type can have; of a union, those of all its members. */
export type NamesOf<Given> = Given extends unknown ? keyof Given : never

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

/** The known name with the fewest differences; failing that, one that the given name begins, or that begins it. */
function nearestTo(given: string, names: readonly string[]): string | undefined {
  for (const edits of [0, 1, 2]) {
    const found = names.find((known) => isMisspelt(given, known, edits))
    if (found !== undefined) return found
  }
  if (given.length < SHORTEST_PART) return undefined
  const [short, ...others] = names.filter((known) => known.startsWith(given) || given.startsWith(known))
  return others.length === 0 ? short : undefined
}

const SHORTEST_PART = 4

/** True if at most so many letters, and at most a third of them, are missing, added or changed; case does not count. */
function isMisspelt(given: string, known: string, edits: number): boolean {
  const most = Math.min(edits, Math.floor(Math.max(given.length, known.length) / 3))
  return areWithin(most, given.toLowerCase(), known.toLowerCase())
}

/** Whether at most `edits` insertions, deletions and substitutions lead from `a` to `b`. */
function areWithin(edits: number, a: string, b: string): boolean {
  let at = 0
  while (at < a.length && a[at] === b[at]) at++
  const [restOfA, restOfB] = [a.slice(at), b.slice(at)]
  if (restOfA === restOfB) return true
  if (edits === 0) return false
  const [afterA, afterB] = [restOfA.slice(1), restOfB.slice(1)]
  return (
    areWithin(edits - 1, afterA, restOfB) ||
    areWithin(edits - 1, restOfA, afterB) ||
    areWithin(edits - 1, afterA, afterB)
  )
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

/** True unless the text is blank or has a control character, a direction mark such as U+202E, or a lone surrogate. */
export function isPlainText(text: string): boolean {
  return text.trim() !== '' && text.isWellFormed() && !/[\p{Cc}\p{Bidi_Control}]/u.test(text)
}

/** Text in quotes, so that `'8'` does not look like `8`. JSON has no NaN, and objects may be large. */
export function shown(value: unknown): string {
  return typeof value === 'string' ? shownText(value) : String(value)
}

/** As JSON, with control characters and direction marks escaped, so that a terminal does not act on them. */
export function shownText(value: unknown): string {
  const text = JSON.stringify(value) as string | undefined
  return String(text).replaceAll(
    /[\p{Cc}\p{Bidi_Control}]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
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
