import type { Statement } from './statement.ts'
import type { Tables } from './tables.ts'
import { DURABLY } from './transaction.ts'

export interface SetAsideRow {
  readonly key: string
}

export interface SettingAside {
  readonly scope: number
  readonly keys: readonly string[]
  readonly fps: readonly (string | null)[]
  readonly owners: readonly string[]
  readonly outcome: 'g' | 'p'
  readonly reason: string
  readonly lockTimeoutMs: number
}

/**
 * Writes what was set aside, committed by itself, and forgets its attempts: if it is ever opened again it has all of them.
 * Waits for a transaction that holds a key (55P03 after `lock_timeout`: another owner has it). A key that is not returned
 * has a record already: by the owner token this very one, sent before, or that of another.
 */
export function setAside({ inbox, attempt }: Tables, setting: SettingAside): Statement<SetAsideRow> {
  const { scope, keys, fps, owners, outcome, reason, lockTimeoutMs } = setting
  return {
    text: `with limits as materialized (select ${DURABLY}, set_config('lock_timeout', $7, true)),
written as (
  insert into ${inbox} (scope, key, fp, owner, outcome, reason)
  select $1, decode(x.key, 'hex'), decode(x.fp, 'hex'), x.owner, $5::"char", $6
  from limits, unnest($2::text[], $3::text[], $4::text[]) as x (key, fp, owner)
  order by 2
  on conflict do nothing
  returning key
),
forgotten as (delete from ${attempt} where scope = $1 and key in (select key from written))
select encode(key, 'hex') as key from written`,
    values: [scope, keys, fps, owners, outcome, reason, String(lockTimeoutMs)],
  }
}
