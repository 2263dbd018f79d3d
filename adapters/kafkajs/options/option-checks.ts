/** A misspelt option would silently leave its default in force. `misplaced` says of a name why it is none here. */
export function checkNames(
  place: string,
  given: object,
  { known, misplaced }: { readonly known: object; readonly misplaced: Readonly<Record<string, string>> },
  problems: string[],
): void {
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(known, name)) continue
    const why = Object.hasOwn(misplaced, name) ? misplaced[name] : undefined
    problems.push(`${place}${name}: ${why ?? `unknown option; expected one of ${Object.keys(known).join(', ')}`}`)
  }
}

export function checkWhole(
  name: string,
  value: unknown,
  problems: string[],
  most: number = Number.MAX_SAFE_INTEGER,
): void {
  if (Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) <= most) return
  const upTo = most === Number.MAX_SAFE_INTEGER ? '' : ` to ${most}`
  problems.push(`${name}: expected a whole number from 1${upTo}, got ${String(value)}`)
}

export function checkOneOf(name: string, value: unknown, expected: readonly unknown[], problems: string[]): void {
  if (expected.includes(value)) return
  problems.push(`${name}: expected ${expected.map(String).join(', ')}, got ${JSON.stringify(value)}`)
}

/** Without what is `undefined`, which would hide a default. */
export function defined<T extends object>(given: T | undefined): Partial<T> {
  return Object.fromEntries(Object.entries(given ?? {}).filter(([, value]) => value !== undefined)) as Partial<T>
}
