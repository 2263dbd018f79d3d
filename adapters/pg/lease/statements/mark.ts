import { IS_OWNED_BY, MILLISECOND, START_DURABLY, valuesOf, type LeaseKeys } from './parts.ts'
import type { Statement } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'

export interface LeaseMark extends LeaseKeys {
  /** $4 and further: in the order of the keys. */
  readonly fps: readonly string[]
  readonly owners: readonly string[]
  readonly fences: readonly number[]
  readonly retentions: readonly number[]
  /** Empty if there is none. */
  readonly results: readonly string[]
}

export interface MarkedRow {
  readonly key: string
  readonly is_late: boolean
}

/**
 * Marks, in the order of keys. Locks the rows, and waits for a transaction that inserts the same key (55P03 after
 * `lock_timeout`). A key without a record gets one: the effect did happen, and nobody owns it. A key that is not
 * returned has another owner, or is done: see `readOwners`. `lease_until` shows whether nobody held it; in a done
 * record it has no other meaning.
 */
export function markLeases({ lease }: Tables, mark: LeaseMark): Statement<MarkedRow> {
  const { fps, owners, fences, retentions, results } = mark
  // mutant: pg-lease-mark-by-anyone
  return {
    text: `with ${START_DURABLY}
insert into ${lease} as l (lease_until, keep_until, fence, attempts, scope, state, doubt, key, fp, owner, rest, since)
select '-infinity', start.now + x.retention * ${MILLISECOND}, x.fence, 0, $1::smallint, 'D', false,
  decode(x.key, 'hex'), decode(x.fp, 'hex'), x.owner, x.result, start.now
from start, unnest($3::text[], $4::text[], $5::text[], $6::int[], $7::float8[], $8::text[]) as x (key, fp, owner, fence, retention, result)
order by 8
on conflict (scope, key) do update set state = 'D', doubt = false, not_before = null, since = excluded.since, cause = null, fp = excluded.fp, owner = excluded.owner, rest = excluded.rest,
  keep_until  = excluded.keep_until,
  fence       = case when ${IS_OVER_NOW} then excluded.fence else l.fence end,
  lease_until = case when l.state = 'P' and not ${IS_OVER_NOW} then l.lease_until else '-infinity' end
where ${IS_OVER_NOW} or l.state in ('R', 'G', 'X') or ${IS_OWNED_BY('excluded.owner')}
returning encode(key, 'hex') as key, lease_until = '-infinity' as is_late`,
    values: valuesOf(mark, fps, owners, fences, retentions, results),
  }
}

const IS_OVER_NOW = '(l.keep_until <= (select now from start))'

export interface OwnerRow {
  readonly key: string
  readonly state: string
  readonly owner: string
}

/** Owners of keys that were not marked. Locks nothing. A key that is not returned no longer has a record. */
export function readOwners({ lease }: Tables, { scope, keys }: Pick<LeaseKeys, 'scope' | 'keys'>): Statement<OwnerRow> {
  return {
    text: `select encode(l.key, 'hex') as key, l.state::text as state, l.owner from ${lease} l
where l.scope = $1 and l.key = any (array(select decode(x, 'hex') from unnest($2::text[]) as x)) and l.keep_until > clock_timestamp()`,
    values: [scope, keys],
  }
}
