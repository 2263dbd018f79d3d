/** Formats a value in a problem. */
export type Show = (value: unknown) => string

/**
 * Refuses unknown option names: without this check a misspelt option would silently leave its default in force.
 *
 * @param place - prefix of each name in a problem, such as `retry.`; empty for a top-level option
 * @param names - `known`: an object with a property for every known option. `misplaced`: for names that belong
 * elsewhere, the text to show instead of
 *   the list of all options.
 * @defaultValue `misplaced` none
 * @param problems - problems are added here, so that one `ConfigError` can report all of them
 */
export function checkNames(
  place: string,
  given: object,
  { known, misplaced = {} }: { readonly known: object; readonly misplaced?: Readonly<Record<string, string>> },
  problems: string[],
): void {
  const names = Object.keys(known)
  let expected = `; expected one of ${names.join(', ')}`
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(known, name)) continue
    if (Object.hasOwn(misplaced, name)) {
      problems.push(`${place}${name}: ${misplaced[name]}`)
      continue
    }
    const nearest = names.find((one) => isMisspelt(name, one))
    problems.push(`${place}${name}: unknown option${nearest === undefined ? expected : `; did you mean ${nearest}?`}`)
    // The names are listed once.
    if (nearest === undefined) expected = ''
  }
}

/** True if at most two letters, and at most a third of them, are missing, added or changed; case does not count. */
function isMisspelt(given: string, known: string): boolean {
  const most = Math.min(2, Math.floor(Math.max(given.length, known.length) / 3))
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

/** Refuses a value that is not a function. @param problems - problems are added here */
export function checkFunction(name: string, value: unknown, problems: string[]): void {
  if (typeof value !== 'function') problems.push(`${name}: expected a function, got ${typeof value}`)
}

/**
 * The options that have a value. Callers without types may pass something that is not an object: then none, and later
 * checks report what is missing.
 */
export function givenOf<T extends object>(options: T): T {
  return withoutUndefined<T>(typeof options === 'object' && options !== null ? options : {})
}

/** The properties that have a value. An `undefined` would hide the default in a spread, and some clients refuse it. */
export function withoutUndefined<T extends object>(properties: { readonly [K in keyof T]?: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(properties).filter(([, value]) => value !== undefined)) as T
}
