import { ConfigError, givenOf } from '../../src/spi.ts'
import { Checks } from './checks.ts'
import type { GuardClient, Row } from './client.ts'
import { withClient } from './with-client.ts'

export interface LockRowOptions {
  /** `table` or `schema.table`. Quoted, so it must be written as the database keeps it. */
  readonly table: string
  /** The primary key, or a unique one, as columns and values. */
  readonly key: Readonly<Record<string, unknown>>
  /**
   * How long to wait for another transaction that has the row, in milliseconds, up to 2^31 - 1; 0: not at all. MariaDB
   * and MySQL wait whole seconds, rounded up.
   * @defaultValue 5000
   */
  readonly waitMs?: number
}

/** `locked`: the row is yours until your transaction ends. `busy`: another transaction has it; try again later. */
export type LockRowVerdict<Found extends object = Row> =
  | { readonly verdict: 'locked'; readonly row: Found }
  | { readonly verdict: 'busy' | 'missing' }

const KNOWN: Record<keyof LockRowOptions, true> = { table: true, key: true, waitMs: true }
const DEFAULT_WAIT_MS = 5_000

/**
 * Locks one row (`for update`) until the transaction ends, and reads it. Begin a transaction first: without one the
 * lock is gone when the call returns. Everybody who changes the row must lock it, or use a conditional update.
 *
 * A row that is held is looked at without waiting (`skip locked`), so that nothing fails. Only a wait takes a
 * savepoint, because a lock timeout would leave a transaction of Postgres aborted. One statement for a row that is
 * free (MariaDB and MySQL: two if it is missing); a wait adds four.
 *
 * @throws ConfigError for options that cannot be meant, an unknown table or column, a key of several rows, a pool
 */
export async function lockRow<Found extends object = Row>(
  tx: GuardClient,
  options: LockRowOptions,
): Promise<LockRowVerdict<Found>> {
  const checks = new Checks('lockRow', options, KNOWN)
  const { table, key, waitMs = DEFAULT_WAIT_MS } = givenOf(options)
  const locking = { table: checks.table(table), key: checks.key('key', key), waitMs }
  if (!Number.isSafeInteger(waitMs) || waitMs < 0 || waitMs > 2 ** 31 - 1) {
    checks.problems.push(`waitMs: expected a whole number of milliseconds from 0 to 2147483647, got ${String(waitMs)}`)
  }
  checks.end()
  const locked = await withClient({ guard: 'lockRow', tx, table }, (statements, { isPool }) => {
    if (isPool) throw new ConfigError(['lockRow: expected a client in a transaction, got a pool, which ends the lock'])
    return statements.lock(locking)
  })
  return typeof locked === 'string' ? { verdict: locked } : { verdict: 'locked', row: locked.row as Found }
}
