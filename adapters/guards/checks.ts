import { shown, where, type Rule } from '../../src/internal.ts'
import { isName, tableOf } from './identifiers.ts'

export const TABLE: Rule<string> = where("'table' or 'schema.table'", (text) => tableOf(text) !== undefined, {
  got: shownValue,
})
export const COLUMN: Rule<string> = where('the name of a column, of at most 63 bytes', isName, { got: shownValue })
const VALUE: Rule<unknown> = where('a value that a column can have', isValue, { got: shownValue })
/** A null is equal to nothing, and one empty key would be that of all messages without one. */
export const KEY_VALUE: Rule<unknown> = where('a value that is not empty, as each row has its own', isKeyValue, {
  got: shownValue,
})

type Given = Readonly<Record<string, unknown>>

/** Columns with their values. */
function columnsBy(value: Rule<unknown>, least: 0 | 1): Rule<Given> {
  return {
    expected: 'an object of columns and values',
    read: (given, { name, problems }) => {
      if (typeof given !== 'object' || given === null || Array.isArray(given)) {
        problems.push(`${name}: expected an object of columns and values, got ${shownValue(given)}`)
        return {}
      }
      const columns = Object.entries(given)
      if (columns.length < least) problems.push(`${name}: expected at least one column, got none`)
      for (const [column, one] of columns) {
        COLUMN.read(column, { name, problems })
        value.read(one, { name: `${name}.${column}`, problems })
      }
      return given
    },
  }
}

export const COLUMNS: Rule<Given> = columnsBy(VALUE, 0)
export const SOME_COLUMNS: Rule<Given> = columnsBy(VALUE, 1)
/** The primary key, or a unique one. */
export const KEY: Rule<Given> = columnsBy(KEY_VALUE, 1)

/** Columns that a guard writes itself, or compares. @param problems - problems are added here */
export function problemsOfTaken(option: string, columns: Given, taken: string, problems: string[]): void {
  if (Object.hasOwn(columns, taken)) {
    problems.push(`${option}.${taken}: expected a column that no other option names`)
  }
}

function isKeyValue(value: unknown): boolean {
  const isEmpty = value === '' || (value instanceof Uint8Array && value.length === 0)
  const isPlain = typeof value !== 'object' || value instanceof Date || value instanceof Uint8Array
  return isValue(value) && !isEmpty && isPlain
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
