import type { Statement } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'
import { DURABLY } from '../../statements/transaction.ts'

export interface WrittenRow {
  readonly key: string
  readonly outcome: string
}

export interface Writing {
  readonly scope: number
  readonly keys: readonly string[]
  readonly fps: readonly (string | null)[]
  /** `null` for done records. */
  readonly attempts: readonly (number | null)[]
  readonly owner: string
  readonly outcome: 'd' | 'g' | 'p'
  readonly reason: string | null
  readonly result: string | null
  readonly cause: string | null
  readonly lockTimeoutMs: number
}

/**
 * Writes records instead of a transaction, committed by itself, and removes their attempts: a record that is reopened
 * has all of them. Waits for a transaction that holds a key (55P03 after `lock_timeout`: another owner has it). A key
 * that is not returned has a record already: the owner token shows whether this call wrote it before, or another owner
 * did.
 */
export function writeRecords({ inbox, attempt }: Tables, writing: Writing): Statement<WrittenRow> {
  const { scope, keys, fps, owner, attempts, outcome, reason, result, cause, lockTimeoutMs } = writing
  return {
    text: `with limits as materialized (select ${DURABLY}, set_config('lock_timeout', $8, true)),
written as (
  insert into ${inbox} (scope, key, fp, owner, outcome, reason, result, attempt, cause)
  select $1, decode(x.key, 'hex'), decode(x.fp, 'hex'), $4, $5::"char", $6, $7, x.attempt, $10
  from limits, unnest($2::text[], $3::text[], $9::int[]) as x (key, fp, attempt)
  order by 2
  on conflict (scope, key) do nothing
  returning key, outcome
),
forgotten as (delete from ${attempt} where scope = $1 and key in (select key from written))
select encode(key, 'hex') as key, outcome::text from written`,
    values: [scope, keys, fps, owner, outcome, reason, result, String(lockTimeoutMs), attempts, cause],
  }
}
