import type { Script } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'

/**
 * `last_at` of a key that a person has let run: neither a purge nor a refund removes it until it is marked or set
 * aside.
 */
export const FOR_EVER = 'infinity'

/**
 * Restores all attempts of keys that a person has let run, in the transaction of the decision. A row without attempts
 * stays, and shows that the key is known: otherwise a message older than retention would look like one whose record was
 * removed.
 */
export function letRun({ attempt }: Tables, scope: number, keys: readonly string[]): Script {
  return {
    text: `insert into ${attempt} (scope, key, owner, n, last_at)
select ${scope}, decode(x, 'hex'), '', 0, '${FOR_EVER}' from unnest('{${keys.join(',')}}'::text[]) as x order by 2
on conflict (scope, key) do update set owner = '', n = 0, last_at = '${FOR_EVER}',
  fp = null, not_before = null, cause = null`,
  }
}
