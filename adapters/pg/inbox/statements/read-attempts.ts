import type { AttemptRow } from '../../../sql/inbox/statements.ts'
import { epochMs, isAmong } from '../../statements/literals.ts'
import type { Script } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'

/** Locks nothing. A key that is not returned was never tried, or has ended. */
export function readAttempts({ attempt }: Tables, scope: number, keys: readonly string[]): Script<AttemptRow> {
  return {
    text: `select encode(key, 'hex') as key, n, encode(fp, 'hex') as fp, cause, ${epochMs('not_before')} as not_before,
  coalesce(ceil(extract(epoch from not_before - clock_timestamp()) * 1000), 0)::float8 as wait_ms,
  case when isfinite(last_at) then extract(epoch from clock_timestamp() - last_at)::float8 * 1000 else 'Infinity' end as age_ms
from ${attempt} where scope = ${scope} and key ${isAmong(keys)}`,
  }
}
