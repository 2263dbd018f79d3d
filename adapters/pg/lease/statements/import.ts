import type { DecisionRow, LeaseDecision } from './decide.ts'
import { MILLISECOND, START_DURABLY, valuesOf } from './parts.ts'
import type { Statement } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'

/**
 * Writes done records for keys without a record, or with one whose retention has ended, and logs them, in one
 * transaction. Waits for a transaction that holds a key. A key that is not returned was claimed meanwhile.
 */
export function importLeases({ lease, audit }: Tables, imported: LeaseDecision): Statement<DecisionRow> {
  const { decision, retentionMs, by, reason } = imported
  // mutant: pg-import-over-a-record
  return {
    text: `with ${START_DURABLY},
asked as materialized (select decode(x, 'hex') as key from unnest($3::text[]) as x),
written as (
  insert into ${lease} as l (lease_until, keep_until, fence, attempts, scope, state, doubt, key, fp, owner, rest, since)
  select start.now, start.now + $5::float8 * ${MILLISECOND}, 1, 0, $1::smallint, 'D', false, asked.key, '', '', '', start.now
  from start, asked order by asked.key
  on conflict (scope, key) do update set lease_until = excluded.lease_until, keep_until = excluded.keep_until,
    fence = 1, attempts = 0, state = 'D', doubt = false, fp = '', owner = '', rest = '', not_before = null, since = excluded.since, cause = null
    where l.keep_until <= excluded.lease_until
  returning l.key
),
audited as (
  insert into ${audit} (scope, key, decision, by_whom, reason) select $1::smallint, key, $4::text, $6::text, $7::text from written
)
select encode(key, 'hex') as key, 'decided' as verdict from written
union all
select encode(l.key, 'hex'), case when l.state = 'D' then 'already' else 'refused' end
from start, asked, ${lease} l where l.scope = $1 and l.key = asked.key and l.keep_until > start.now`,
    values: valuesOf(imported, decision, retentionMs, by, reason),
  }
}
