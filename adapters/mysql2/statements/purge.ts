import { bytes, deleteKeys, inHex } from './literals.ts'
import type { Script } from './script.ts'
import type { Keyed, Tables } from './tables.ts'

export interface Purgeable {
  readonly tables: Tables
  readonly table: Keyed
  /** A condition for the rows that may be removed. */
  readonly isOver: string
  /** Statements in the transaction of the removal, after it. */
  readonly noted?: readonly string[]
}

export interface StepRow {
  /** Number of rows that were looked at, and the key of the last one, in hex. */
  readonly looked: number | string
  readonly last: string | null
}

export interface OverRow {
  readonly k: string
}

interface Step {
  readonly scope: number
  readonly after: string
  readonly rows: number
  readonly limit: number
}

/**
 * Two sets: the end of the step, and the expired rows in it. Locks nothing and waits for nobody: rows of open
 * transactions are not visible. In the order of keys, which is the only index of the table.
 */
export function lookForOver({ tables, table, isOver }: Purgeable, { scope, after, rows, limit }: Step): Script {
  // No other columns: the result of a subquery is written to a temporary table, with all its columns.
  const columns = `\`key\`, ${isOver} as is_over`
  const step = `select ${columns} from ${tables[table]} where scope = ${scope} and \`key\` > ${bytes(after)} order by \`key\` limit ${rows}`
  return {
    statements: [
      `select count(*) as looked, ${inHex('max(`key`)')} as last from (${step}) as step`,
      `select ${inHex('`key`')} as k from (${step}) as step where is_over order by \`key\` limit ${limit}`,
    ],
  }
}

export interface RemovedRow {
  readonly removed: number | string
}

/** Locks the rows that it removes, one by one, and checks again that they are expired. */
export function removeOver(
  { tables, table, isOver }: Purgeable,
  scope: number,
  keys: readonly string[],
): Script<RemovedRow> {
  return {
    statements: [deleteKeys(tables, table, scope, keys, isOver), 'select row_count() as removed'],
  }
}

/** The scope keeps how far it was purged. */
export function notePurge({ scope: scopes }: Tables, scope: number, agoMs: number): string {
  const to = `date_sub(utc_timestamp(6), interval ${Math.round(agoMs * 1_000)} microsecond)`
  return `update ${scopes} set purged_to = greatest(coalesce(purged_to, ${to}), ${to}) where id = ${scope}`
}

export function isBefore(column: string, agoMs: number): string {
  return `${column} < date_sub(utc_timestamp(6), interval ${Math.round(agoMs * 1_000)} microsecond)`
}
