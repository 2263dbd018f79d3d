import {
  isAmong,
  IS_OWNED_BY,
  lockedRows,
  MILLISECOND,
  START_DURABLY,
  valuesOf,
  type LeaseKeys,
} from './lease-parts.ts'
import type { Statement } from './statement.ts'
import type { Tables } from './tables.ts'

export interface LeaseMark extends LeaseKeys {
  /** $4 and further: in the order of the keys. */
  readonly fps: readonly string[]
  readonly owners: readonly string[]
  readonly fences: readonly number[]
  readonly retentions: readonly number[]
  /** Empty where there is none. */
  readonly results: readonly string[]
}

export interface MarkRow {
  readonly key: string
  readonly verdict: 'marked' | 'already-marked' | 'marked-late' | 'refused-busy' | 'refused-done'
}

/** Marks what has a record; locks its rows. A key that is not returned has none, or had none yet: `markAbsent`. */
export function markKept(tables: Tables, mark: LeaseMark): Statement<MarkRow> {
  return {
    text: `with ${START_DURABLY},
held as materialized (
  select l.key, decode(x.fp, 'hex') as fp, x.owner, x.result, x.retention, case when l.is_over then x.fence else l.fence end as fence,
    case
      when l.is_over then 'marked-late'
      when ${IS_OWNED_BY('x.owner')} then 'marked'
      when l.state = 'P' then 'refused-busy'
      when l.state <> 'D' then 'marked-late'
      when l.owner = x.owner then 'already-marked'
      else 'refused-done'
    end as verdict
  ${lockedRows(tables, { asked: ASKED, columns: 'x.fp, x.owner, x.fence, x.retention, x.result' })}
),
marked as (
  update ${tables.lease} l set state = 'D', doubt = false, fence = held.fence, fp = held.fp, owner = held.owner,
    rest = held.result, keep_until = start.now + held.retention * ${MILLISECOND}
  from held, start
  where ${isAmong('held')} and held.verdict in ('marked', 'marked-late')
)
select encode(key, 'hex') as key, verdict from held`,
    values: allOf(mark),
  }
}

/**
 * Writes marks whose record is gone: the effect did happen, and nobody owns it. Waits for whoever inserts the same key (55P03
 * after `lock_timeout`). A key that is not returned has a record.
 */
export function markAbsent({ lease }: Tables, mark: LeaseMark): Statement<MarkRow> {
  return {
    text: `with ${START_DURABLY}
insert into ${lease} (lease_until, keep_until, fence, attempts, scope, state, doubt, key, fp, owner, rest)
select start.now, start.now + x.retention * ${MILLISECOND}, x.fence, 0, $1::smallint, 'D', false,
  decode(x.key, 'hex'), decode(x.fp, 'hex'), x.owner, x.result
from start, ${ASKED}
order by 8
on conflict do nothing
returning encode(key, 'hex') as key, 'marked-late' as verdict`,
    values: allOf(mark),
  }
}

const ASKED = `unnest($3::text[], $4::text[], $5::text[], $6::int[], $7::float8[], $8::text[]) as x (key, fp, owner, fence, retention, result)`

function allOf(mark: LeaseMark): readonly unknown[] {
  const { fps, owners, fences, retentions, results } = mark
  return valuesOf(mark, fps, owners, fences, retentions, results)
}
