import type { ListedState } from '../../../../src/internal.ts'
import type { Ahead } from '../../../sql/in-steps.ts'
import { epochMs } from '../../statements/literals.ts'
import type { Statement } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'
import type { LeaseRow, LeasesSeen } from '../../../sql/lease/statements.ts'

/** With a time, and without a record where `key` is `null`. */
export type SeenRow = { readonly [C in keyof LeaseRow]: LeaseRow[C] | null } & { readonly now: number }

export function rowsIn(rows: readonly SeenRow[]): LeasesSeen {
  return {
    rows: rows.flatMap((row) => (row.key === null ? [] : [row as LeaseRow])),
    now: rows[0]?.now ?? 0,
  }
}

export const START = 'with start as materialized (select clock_timestamp() as now)'

/** Needs a row `l`, and `start`. */
export const COLUMNS: string = `encode(l.key, 'hex') as key, nullif(encode(l.fp, 'hex'), '') as fp, l.owner, l.state::text as state, l.doubt,
  l.fence, l.attempts as attempt, ${epochMs('l.lease_until')} as lease_until,
  case when l.state <> 'X' then ${epochMs('l.keep_until')} end as keep_until, nullif(l.rest, '') as rest,
  ${epochMs('l.not_before')} as not_before, ${epochMs('l.since')} as since, l.cause, ${epochMs('start.now')} as now`

/** Locks nothing. At least one row, without a `key` if there is no record. */
export function peekLeases({ lease }: Tables, scope: number, keys: readonly string[]): Statement<SeenRow> {
  return {
    text: `${START}
select ${COLUMNS} from start
left join ${lease} l on l.scope = $1 and l.key = any (array(select decode(x, 'hex') from unnest($2::text[]) as x))`,
    values: [scope, keys],
  }
}

const IS_STATE: { readonly [S in ListedState]: string } = {
  processing: `l.state = 'P' and l.lease_until > start.now`,
  'in-doubt': `(l.state = 'P' and l.lease_until <= start.now or l.state = 'R' and l.doubt)`,
  'given-up': `l.state = 'G'`,
  parked: `l.state = 'X'`,
  done: `l.state = 'D'`,
}

interface Search {
  readonly scope: number
  readonly state: ListedState
  /** In hex; empty for the first step. */
  readonly after: string
  /** The most records to look at, and to return. */
  readonly most: number
  readonly limit: number
}

type FoundRow = SeenRow & Ahead

/**
 * Looks through some records in the order of keys, for those in one state. Columns that every claim changes have no
 * index, so a search visits all records, step by step. Locks nothing. At least one row: each row says how far the step
 * has got.
 */
export function findLeases({ lease }: Tables, { scope, state, after, most, limit }: Search): Statement<FoundRow> {
  return {
    text: `${START},
looked as materialized (
  select l.* from ${lease} l where l.scope = $1 and l.key > decode($2, 'hex') order by l.key limit $3
),
found as (
  select ${COLUMNS} from start, looked l where l.keep_until > start.now and ${IS_STATE[state]} order by l.key limit $4
)
select encode((select key from looked order by key desc limit 1), 'hex') as last, (select count(*) from looked)::int as looked, found.*
from (select) as one left join found on true order by found.key`,
    values: [scope, after, most, limit],
  }
}
