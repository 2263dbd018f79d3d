import type { Decision } from '../../../../src/spi.ts'
import { IS_IN_DOUBT, VIEW_STATE } from './look.ts'
import { IS_OVER, isAmong, lockedRows, MILLISECOND, START_DURABLY, valuesOf, type LeaseKeys } from './parts.ts'
import type { Statement } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'

export interface LeaseDecision extends LeaseKeys {
  readonly decision: Decision
  readonly retentionMs: number
  readonly by: string
  readonly reason: string
}

export interface DecisionRow {
  readonly key: string
  readonly verdict: 'decided' | 'already' | 'refused'
}

/**
 * Carries out a person's decision and logs it with the previous record, in one transaction. Locks the rows. A key that
 * is not returned has no record.
 */
export function decideLeases(tables: Tables, decided: LeaseDecision): Statement<DecisionRow> {
  const { decision, retentionMs, by, reason } = decided
  const rows = lockedRows(tables, { asked: 'unnest($3::text[]) as x (key)', columns: '1', which: `not ${IS_OVER}` })
  // mutant: reopened-without-audit
  return {
    text: `with ${START_DURABLY},
held as materialized (
  select l.key,
    case
      when case $4::text when 'done' then l.state = 'D' else l.state = 'R' and not l.doubt and l.attempts = 0 end then 'already'
      when case $4::text
        when 'reopen' then l.state = 'G'
        when 'forget' then l.state = 'D'
        else l.state in ('G', 'X') or ${IS_IN_DOUBT}
      end then 'decided'
      else 'refused'
    end as verdict,
    json_strip_nulls(json_build_object('state', ${VIEW_STATE}, 'fence', l.fence,
      'attempt', case when l.state <> 'D' then l.attempts end, 'owner', l.owner,
      'since', l.since, 'cause', l.cause, 'reason', case when l.state in ('G', 'X') then l.rest end, 'result', case when l.state = 'D' then nullif(l.rest, '') end)) as before
  ${rows}
),
written as (
  update ${tables.lease} l set state = case $4::text when 'done' then 'D'::"char" else 'R' end, attempts = 0, doubt = false, rest = '',
    not_before = null, since = case $4::text when 'done' then start.now end, cause = null,
    keep_until = start.now + $5::float8 * ${MILLISECOND}
  from held, start where ${isAmong('held')} and held.verdict = 'decided'
),
audited as (
  insert into ${tables.audit} (scope, key, decision, by_whom, reason, before)
  select $1::smallint, key, $4::text, $6::text, $7::text, before from held where verdict = 'decided'
)
select encode(key, 'hex') as key, verdict from held`,
    values: valuesOf(decided, decision, retentionMs, by, reason),
  }
}
