import { LEFT_MS } from './parts.ts'
import { epochMs } from '../../statements/literals.ts'
import type { Statement } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'

export interface LeaseView {
  readonly key: string
  readonly state: 'processing' | 'in-doubt' | 'released' | 'done' | 'given-up' | 'parked' | 'unreadable'
  /** In hex. `null`: not known. */
  readonly fp: string | null
  readonly fence: number
  readonly attempt: number
  readonly left_ms: number
  readonly rest: string
  /** Milliseconds since 1970, as the times below. Not for parked records. */
  readonly keep_until: number
  /** For released records with a backoff. */
  readonly not_before: number | null
  /** For records that were set aside or are done. */
  readonly since: number | null
  readonly cause: string | null
}

export const IS_IN_DOUBT = `(l.state = 'P' and l.lease_until <= start.now or l.state = 'R' and l.doubt)`

export const VIEW_STATE: string = `case when ${IS_IN_DOUBT} then 'in-doubt' when l.state = 'P' then 'processing' when l.state = 'R' then 'released'
  when l.state = 'D' then 'done' when l.state = 'G' then 'given-up' when l.state = 'X' then 'parked' else 'unreadable' end`

const START = 'with start as materialized (select clock_timestamp() as now)'

const COLUMNS = `encode(l.key, 'hex') as key, ${VIEW_STATE} as state, encode(l.fp, 'hex') as fp, l.fence, l.attempts as attempt,
  case when l.state in ('P', 'R', 'D', 'G', 'X') then l.rest else l.state::text end as rest,
  ${LEFT_MS} as left_ms, ${epochMs('l.since')} as since, l.cause,
  case when l.not_before > start.now then ${epochMs('l.not_before')} end as not_before,
  case when l.state <> 'X' then ${epochMs('l.keep_until')} end as keep_until`

/** Locks nothing. A key that is not returned has no record, or one whose retention has ended. */
export function peekLeases({ lease }: Tables, scope: number, keys: readonly string[]): Statement<LeaseView> {
  return {
    text: `${START}
select ${COLUMNS} from start, ${lease} l
where l.scope = $1 and l.key = any (array(select decode(x, 'hex') from unnest($2::text[]) as x)) and l.keep_until > start.now`,
    values: [scope, keys],
  }
}

interface Search {
  readonly scope: number
  readonly state: LeaseView['state']
  /** In hex; empty for the first step. */
  readonly after: string
  /** The most records to look at, and to return. */
  readonly most: number
  readonly limit: number
}

export interface FoundLeases extends Omit<LeaseView, 'key'> {
  /** `null` in the only row of a step without results. */
  readonly key: string | null
  /** The last key that was looked at. */
  readonly last: string
  readonly looked: number
}

/**
 * Looks through some records in the order of keys, for those in one state. Columns that every claim changes have no
 * index, so a search visits all records, step by step. Locks nothing. At least one row: each row says how far the step
 * has got.
 */
export function findLeases({ lease }: Tables, { scope, state, after, most, limit }: Search): Statement<FoundLeases> {
  return {
    text: `${START},
looked as materialized (
  select l.* from ${lease} l where l.scope = $1 and l.key > decode($2, 'hex') order by l.key limit $3
),
found as (
  select ${COLUMNS} from start, looked l where l.keep_until > start.now and ${VIEW_STATE} = $4 order by l.key limit $5
)
select encode((select key from looked order by key desc limit 1), 'hex') as last, (select count(*) from looked)::int as looked, found.*
from (select) as one left join found on true order by found.key`,
    values: [scope, after, most, state, limit],
  }
}
