import { randomBytes } from 'node:crypto'
import { ascii, bytes, hasKey } from './literals.ts'
import type { Tables } from './tables.ts'

/**
 * For a transaction that may have nothing to write: its COMMIT would flush nothing. InnoDB shows to others what is committed
 * before it is flushed (always without a binary log, which is the default of MariaDB); a crash of the server takes it back.
 * What was seen before a COMMIT that flushes, on the same connection, is on disk with it. A row of nobody, so nothing is waited for.
 */
export function somethingToFlush({ attempt }: Tables, scope: number): readonly string[] {
  const key = randomBytes(16).toString('hex')
  return [
    `insert into ${attempt} (scope, \`key\`, owner, n, last_at) values (${scope}, ${bytes(key)}, ${ascii('flush')}, 0, utc_timestamp(6))`,
    `delete from ${attempt} where ${hasKey(scope, [key])}`,
  ]
}
