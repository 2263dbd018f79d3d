/** How a problem writes a value. */
export type Show = (value: unknown) => string

/**
 * Refuses names of options that do not exist: a misspelt one would silently leave its default in force.
 *
 * @param place - what stands before each name in a problem, such as `retry.`; empty for an option that lies in no other
 * @param names - `known`: an object with a property for every option there is. `misplaced`: why a name is none here, and
 *   where it belongs, instead of the list of all. @defaultValue `misplaced` none
 * @param problems - what is found is added here, so that one `ConfigError` can tell all of it
 */
export function checkNames(
  place: string,
  given: object,
  { known, misplaced = {} }: { readonly known: object; readonly misplaced?: Readonly<Record<string, string>> },
  problems: string[],
): void {
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(known, name)) continue
    const why = Object.hasOwn(misplaced, name) ? misplaced[name] : undefined
    problems.push(`${place}${name}: ${why ?? `unknown option; expected one of ${Object.keys(known).join(', ')}`}`)
  }
}

/**
 * Refuses what is no whole number from 1 to `most`; `undefined` is none either.
 *
 * @param problems - what is found is added here
 * @param options - `most`: @defaultValue 2^53 - 1. `show`: how the value is written. @defaultValue `String`
 */
export function checkWhole(
  name: string,
  value: unknown,
  problems: string[],
  { most = Number.MAX_SAFE_INTEGER, show = String }: { readonly most?: number; readonly show?: Show } = {},
): void {
  if (Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) <= most) return
  const upTo = most === Number.MAX_SAFE_INTEGER ? '' : ` to ${most}`
  problems.push(`${name}: expected a whole number from 1${upTo}, got ${show(value)}`)
}

/**
 * Refuses what is none of `expected`; `undefined` only counts where it is one of them.
 *
 * @param problems - what is found is added here
 * @param show - how all values are written. @defaultValue those expected bare, the one that was got as JSON
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
 * Refuses what is no text, the empty one, and what no store and no log could keep as it is: control characters (Postgres stores no NUL)
 * and lone surrogates.
 *
 * @param problems - what is found is added here
 */
export function checkText(name: string, value: unknown, problems: string[]): void {
  if (typeof value !== 'string' || value === '') {
    problems.push(`${name}: expected text, got ${JSON.stringify(value)}`)
  } else if (!isPlainText(value)) {
    problems.push(`${name}: expected text without control characters and lone surrogates, got ${JSON.stringify(value)}`)
  }
}

/** It has no control character and no lone surrogate. */
export function isPlainText(text: string): boolean {
  return text.isWellFormed() && !/\p{Cc}/u.test(text)
}

/**
 * The object that was given, and an empty one for what is none, which it refuses.
 *
 * @param problems - what is found is added here
 */
export function checkObject<T extends object>(name: string, value: T, problems: string[]): Partial<T> {
  if (typeof value === 'object' && value !== null) return value
  problems.push(`${name}: expected an object, got ${JSON.stringify(value)}`)
  return {}
}

/** Refuses what is no function. @param problems - what is found is added here */
export function checkFunction(name: string, value: unknown, problems: string[]): void {
  if (typeof value !== 'function') problems.push(`${name}: expected a function, got ${typeof value}`)
}

/** The options that have a value; none in what is no object, as callers without types give it. What is missing is yet to be told. */
export function givenOf<T extends object>(options: T): T {
  return withoutUndefined<T>(typeof options === 'object' && options !== null ? options : {})
}

/** The properties that have a value: spread over defaults, an `undefined` would hide one; some clients refuse it. */
export function withoutUndefined<T extends object>(properties: { readonly [K in keyof T]?: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(properties).filter(([, value]) => value !== undefined)) as T
}
