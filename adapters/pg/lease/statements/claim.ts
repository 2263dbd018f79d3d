import {
  IS_OVER,
  isAmong,
  IS_OWNED_BY,
  lockedRows,
  MILLISECOND,
  LEFT_MS,
  START_DURABLY,
  valuesOf,
  type LeaseKeys,
} from './parts.ts'
import { epochMs } from '../../statements/literals.ts'
import type { Statement } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'

export interface LeaseClaim extends LeaseKeys {
  /** $4: in hex, empty if digests are not compared. */
  readonly fps: readonly string[]
  readonly owner: string
  readonly leaseMs: number
  readonly retentionMs: number
  readonly alone: boolean
}

export interface FirstClaimRow {
  readonly key: string
}

/** `changed`: the key could be claimed when it was read, but another claim was quicker. */
export interface ClaimRow {
  readonly key: string
  readonly verdict:
    | 'claimed'
    | 'taken-over'
    | 'busy'
    | 'in-doubt'
    | 'done'
    | 'given-up'
    | 'parked'
    | 'conflict'
    | 'changed'
    | 'unreadable'
  readonly fence: number
  readonly attempt: number
  readonly left_ms: number
  /** For an unreadable record: its state. */
  readonly rest: string
  /** Milliseconds since 1970. */
  readonly since: number | null
  readonly cause: string | null
}

/**
 * Claims keys without a record, with fence 1 and attempt 1. Waits for a transaction that inserts the same key (55P03
 * after `lock_timeout`). A key that is not returned has a record; nothing is written for it, and nothing is flushed if
 * none is returned.
 */
export function claimAbsent({ lease }: Tables, claim: LeaseClaim): Statement<FirstClaimRow> {
  const { fps, owner, leaseMs, retentionMs } = claim
  return {
    text: `with ${START_DURABLY}
insert into ${lease} (lease_until, keep_until, fence, attempts, scope, state, doubt, key, fp, owner, rest)
select start.now + $6::float8 * ${MILLISECOND}, start.now + $7::float8 * ${MILLISECOND}, 1, 1, $1::smallint, 'P', false,
  decode(x.key, 'hex'), decode(x.fp, 'hex'), $5, ''
from start, unnest($3::text[], $4::text[]) as x (key, fp)
order by 8
on conflict (scope, key) do nothing
returning encode(key, 'hex') as key`,
    values: valuesOf(claim, fps, owner, leaseMs, retentionMs),
  }
}

/**
 * Claims keys with a record, if they may be claimed, and returns why the others may not. Locks only rows that seem
 * claimable. A key that is not returned has no record any more, or had none yet.
 */
export function claimKept(tables: Tables, claim: LeaseClaim): Statement<ClaimRow> {
  const { fps, owner, leaseMs, retentionMs, alone } = claim
  // mutant: pg-take-over-without-a-fence
  return {
    text: `with ${START_DURABLY},
seen as materialized (
  select l.key, l.state, l.fence, l.attempts, ${LEFT_MS} as left_ms, l.rest, ${epochMs('l.since')} as since, l.cause,
    not (${IS_SAME}) as is_conflict, ${MAY_BE_CLAIMED} as is_free
  from start, ${ASKED} cross join lateral (
    select * from ${tables.lease} l where l.scope = $1 and l.key = decode(x.key, 'hex') offset 0
  ) as l
),
free as materialized (
  select l.key, decode(x.fp, 'hex') as fp,
    case when l.is_over then 'anew' when ${IS_OWNED_BY('$5')} then 'again' when l.state = 'P' then 'over' else 'next' end as claimed
  ${lockedRows(tables, { asked: ASKED, columns: 'x.fp', which: MAY_BE_CLAIMED })}
),
granted as (
  update ${tables.lease} l set state = 'P', owner = $5, fp = free.fp, rest = '', not_before = null, since = null, cause = null,
    fence    = case free.claimed when 'anew' then 1 when 'again' then l.fence else l.fence + 1 end,
    attempts = case free.claimed when 'anew' then 1 when 'again' then l.attempts else l.attempts + 1 end,
    doubt    = case free.claimed when 'anew' then false when 'over' then true else l.doubt end,
    lease_until = start.now + $6::float8 * ${MILLISECOND}, keep_until = start.now + $7::float8 * ${MILLISECOND}
  from free, start where ${isAmong('free')}
  returning l.key, l.fence, l.attempts, l.doubt
)
select encode(seen.key, 'hex') as key, coalesce(granted.fence, seen.fence) as fence,
  coalesce(granted.attempts, seen.attempts) as attempt, seen.left_ms, seen.since, seen.cause,
  case when seen.state in ('P', 'R', 'D', 'G', 'X') then seen.rest else seen.state::text end as rest,
  case
    when granted.doubt then 'taken-over'
    when granted.key is not null then 'claimed'
    when seen.is_free then 'changed'
    when seen.state not in ('P', 'R', 'D', 'G', 'X') then 'unreadable'
    when seen.is_conflict then 'conflict'
    when seen.left_ms > 0 then 'busy'
    when seen.state = 'D' then 'done'
    when seen.state = 'G' then 'given-up'
    when seen.state = 'X' then 'parked'
    else 'in-doubt'
  end as verdict
from seen left join granted using (key)`,
    values: valuesOf(claim, fps, owner, leaseMs, retentionMs, alone),
  }
}

const ASKED = 'unnest($3::text[], $4::text[]) as x (key, fp)'

/** The empty digest matches every other. */
const IS_SAME = `l.fp = decode(x.fp, 'hex') or l.fp = '' or x.fp = ''`

/** A record in doubt may be claimed only with `alone` ($8), or by the same claim sent again. */
// mutant: pg-doubt-shared
const MAY_BE_CLAIMED = `(${IS_OVER} or (${IS_SAME}) and (
    ${IS_OWNED_BY('$5')} or l.state = 'P' and l.lease_until <= start.now and $8::boolean or l.state = 'R' and (not l.doubt or $8::boolean)
    and (l.not_before is null or l.not_before <= start.now)))`
