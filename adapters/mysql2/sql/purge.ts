import { bytes, hasKey, inHex } from './literals.ts'
import type { Script } from './script.ts'

export interface Purgeable {
  readonly table: string
  /** What is true of the rows that may go. */
  readonly isOver: string
}

export interface StepRow {
  /** The rows that were looked at, and the last of them, in hex. */
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
 * Two sets: the end of the step, and what in it is over. Locks nothing and waits for nobody: rows of open transactions are not
 * seen. In the order of keys, which is that of the table: it has no other index.
 */
export function lookForOver({ table, isOver }: Purgeable, { scope, after, rows, limit }: Step): Script {
  // Nothing else of them: what a subquery returns is written to a table of its own, results too.
  const columns = `\`key\`, ${isOver} as is_over`
  const step = `select ${columns} from ${table} where scope = ${scope} and \`key\` > ${bytes(after)} order by \`key\` limit ${rows}`
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

/** Locks the rows that it removes, one by one; looks again whether they are over. */
export function removeOver({ table, isOver }: Purgeable, scope: number, keys: readonly string[]): Script<RemovedRow> {
  return {
    statements: [`delete from ${table} where ${hasKey(scope, keys)} and ${isOver}`, 'select row_count() as removed'],
  }
}

export function isBefore(column: string, agoMs: number): string {
  return `${column} < date_sub(utc_timestamp(6), interval ${Math.round(agoMs * 1_000)} microsecond)`
}
