import { ConfigError, checkNames, givenOf, shown } from '../../src/spi.ts'
import { isName, tableOf, type Table } from './identifiers.ts'
import type { Columns } from './statements.ts'

/** A property for every option; each guard ties it to the type of its options. */
type Known = Readonly<Record<string, true>>

/** Reads the options of a guard, and reports all that is wrong with them in one error. */
export class Checks {
  readonly problems: string[] = []
  readonly #guard: string

  constructor(guard: string, given: object, known: Known) {
    this.#guard = guard
    checkNames('', givenOf(given), { of: `${guard}()`, known }, this.problems)
  }

  /** @throws ConfigError with all problems */
  end(): void {
    if (this.problems.length === 0) return
    throw new ConfigError(this.problems.map((problem) => `${this.#guard}: ${problem}`))
  }

  table(given: unknown): Table {
    const table = tableOf(given)
    if (table === undefined) this.#add('table', `expected 'table' or 'schema.table'`, given)
    return table ?? []
  }

  column(option: string, given: unknown): string {
    if (!isName(given)) this.#add(option, 'expected the name of a column, of at most 63 bytes', given)
    return String(given)
  }

  /** An option with options of its own. */
  object(option: string, given: unknown, known: Known): Readonly<Record<string, unknown>> {
    if (typeof given !== 'object' || given === null) {
      this.#add(option, `expected an object with ${Object.keys(known).join(', ')}`, given)
      return {}
    }
    checkNames(`${option}.`, given, { of: `${this.#guard}()`, known }, this.problems)
    return given as Readonly<Record<string, unknown>>
  }

  /** Columns with their values. @param least - how many there must be */
  columns(option: string, given: unknown, least: 0 | 1): Columns {
    if (typeof given !== 'object' || given === null || Array.isArray(given)) {
      this.#add(option, 'expected an object of columns and values', given)
      return []
    }
    const columns = Object.entries(given)
    if (columns.length < least) this.problems.push(`${option}: expected at least one column, got none`)
    for (const [column, value] of columns) {
      this.column(option, column)
      if (!isValue(value)) this.#add(`${option}.${column}`, 'expected a value that a column can have', value)
    }
    return columns
  }

  /** A null is equal to nothing, and one empty key would be that of all messages without one. */
  key(option: string, given: unknown): Columns {
    const columns = this.columns(option, given, 1)
    for (const [column, value] of columns) this.keyValue(`${option}.${column}`, value)
    return columns
  }

  keyValue(option: string, value: unknown): void {
    const isEmpty = value === '' || (value instanceof Uint8Array && value.length === 0)
    const isPlain = typeof value !== 'object' || value instanceof Date || value instanceof Uint8Array
    if (isEmpty || !isPlain) this.#add(option, 'expected a value that is not empty, as each row has its own', value)
  }

  /** Columns that the guard writes itself, or compares. */
  excluding(option: string, columns: Columns, taken: readonly string[]): void {
    for (const [column] of columns) {
      if (taken.includes(column))
        this.problems.push(`${option}.${column}: expected a column that no other option names`)
    }
  }

  #add(option: string, expected: string, given: unknown): void {
    this.problems.push(`${option}: ${expected}, got ${shownValue(given)}`)
  }
}

/** `undefined` would be no column, and NaN no number. */
export function isValue(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  if (value instanceof Date) return Number.isFinite(value.getTime())
  return !['undefined', 'function', 'symbol'].includes(typeof value)
}

/** Values of objects may be long, and secret. */
export function shownValue(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`
  return typeof value === 'object' && value !== null ? 'an object' : shown(value)
}

/** The current value in the type of the expected one: drivers give large numbers as text. */
export function likeGiven(given: unknown, current: unknown): unknown {
  if (typeof current !== 'string' && typeof current !== 'number' && typeof current !== 'bigint') return current
  if (typeof given === 'bigint' && /^-?\d+$/.test(String(current))) return BigInt(current)
  if (typeof given === 'number' && current !== '' && Number.isFinite(Number(current))) return Number(current)
  return typeof given === 'string' ? String(current) : current
}
