import { randomKey } from '../../sql/bytes.ts'
import { ascii, bytes, deleteKeys } from './literals.ts'
import type { Tables } from './tables.ts'

/**
 * Makes the COMMIT of a transaction flush even if it has nothing else to write. InnoDB shows committed data to others
 * before it is flushed (always without a binary log, which is the default of MariaDB), and a crash of the server undoes
 * it. Data that was read before a flushing COMMIT on the same connection is on disk after it. The row has a random key,
 * so it waits for nothing.
 */
export function somethingToFlush(tables: Tables, scope: number): readonly string[] {
  const key = randomKey()
  return [
    `insert into ${tables.attempt} (scope, \`key\`, owner, n, last_at) values (${scope}, ${bytes(key)}, ${ascii('flush')}, 0, utc_timestamp(6))`,
    deleteKeys(tables, 'attempt', scope, [key]),
  ]
}
