import type { Script } from './statement.ts'
import type { Tables } from './tables.ts'

/** `last_at` of what a person has let run: no purge takes it, and no refund, until it is marked or set aside. */
export const FOR_EVER = 'infinity'

/**
 * All attempts for what a person has let run, in the transaction of the decision. A row without attempts stays, and tells that the key
 * is known: else a message that is older than retention would look like one whose record was forgotten.
 */
export function letRun({ attempt }: Tables, scope: number, keys: readonly string[]): Script {
  return {
    text: `insert into ${attempt} (scope, key, owner, n, last_at)
select ${scope}, decode(x, 'hex'), '', 0, '${FOR_EVER}' from unnest('{${keys.join(',')}}'::text[]) as x order by 2
on conflict (scope, key) do update set owner = '', n = 0, last_at = '${FOR_EVER}',
  fp = null, not_before = null, cause = null`,
  }
}
