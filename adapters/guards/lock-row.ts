import { ConfigError, needed, optionsOf, or, StoreError, whole, type Table } from '../../src/internal.ts'
import { KEY, TABLE } from './checks.ts'
import type { GuardClient, Row } from './client.ts'
import { tableOf } from './identifiers.ts'
import { withClient } from './with-client.ts'

export interface LockRowOptions {
  /** `table` or `schema.table`. Quoted, so it must be written as the database keeps it. */
  readonly table: string
  /** The primary key, or a unique one, as columns and values. */
  readonly key: Readonly<Record<string, unknown>>
  /**
   * How long to wait for another transaction that has the row, in milliseconds, up to 2147475000; 0: not at all. MariaDB
   * and MySQL wait whole seconds, rounded up. A database that does not answer has 5 s more.
   * @defaultValue 5000
   */
  readonly waitMs?: number
}

/** `locked`: the row is yours until your transaction ends. `busy`: another transaction has it; try again later. */
export type LockRowVerdict<Found extends object = Row> =
  | { readonly verdict: 'locked'; readonly row: Found }
  | { readonly verdict: 'busy' | 'missing' }

const LOCK_ROW: Table<LockRowOptions> = {
  table: needed(TABLE),
  key: needed(KEY),
  // With the time for an answer it is still one that a timer of Node can have.
  waitMs: or(5_000, whole({ least: 0, most: 2_147_480_000 - 5_000 })),
}
/** How much longer than its lock timeout a database may take to answer. */
const ANSWER_MS = 5_000

/**
 * Locks one row (`for update`) until the transaction ends, and reads it. Begin a transaction first: without one the
 * lock is gone when the call returns. Everybody who changes the row must lock it, or use a conditional update.
 *
 * A row that is held is looked at without waiting (`skip locked`), so that nothing fails. Only a wait takes a
 * savepoint, because a lock timeout would leave a transaction of Postgres aborted. One statement for a row that is
 * free (MariaDB and MySQL: two if it is missing); a wait adds four.
 *
 * @throws ConfigError for options that cannot be meant, an unknown table or column, a key of several rows, a pool
 * @throws StoreError `STORE_AMBIGUOUS` if the database does not answer in `waitMs` and 5 s: the row may be locked, and the
 * statement may still run, so roll back and close the connection, as the inbox does when the handler throws
 */
export async function lockRow<Found extends object = Row>(
  tx: GuardClient,
  options: LockRowOptions,
): Promise<LockRowVerdict<Found>> {
  const { table, key, waitMs } = optionsOf('lockRow', LOCK_ROW, options)
  const locking = { table: tableOf(table) ?? [], key: Object.entries(key), waitMs }
  const asked = withClient({ guard: 'lockRow', tx, table }, (statements, { isPool }) => {
    if (isPool) throw new ConfigError(['lockRow: expected a client in a transaction, got a pool, which ends the lock'])
    return statements.lock(locking)
  })
  const locked = await answeredWithin(Math.ceil(waitMs / 1_000) * 1_000 + ANSWER_MS, asked)
  return typeof locked === 'string' ? { verdict: locked } : { verdict: 'locked', row: locked.row as Found }
}

function answeredWithin<T>(limitMs: number, asked: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      const text = `lockRow: expected an answer of the database within ${limitMs} ms, got none: roll back the transaction`
      reject(new StoreError('STORE_AMBIGUOUS', text))
    }, limitMs)
    asked.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
