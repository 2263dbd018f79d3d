import { lockedRows, MILLISECOND, START_DURABLY, valuesOf, type LeaseKeys } from './parts.ts'
import type { Statement } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'

export interface SourceRow {
  readonly key: string
  readonly rest: string
}

/** A source is a done row whose text is its result. Locks nothing. A source that is not returned has none. */
export function readSources(
  { lease }: Tables,
  { scope, keys }: Pick<LeaseKeys, 'scope' | 'keys'>,
): Statement<SourceRow> {
  return {
    text: `select encode(l.key, 'hex') as key, l.rest from ${lease} l
where l.scope = $1 and l.key = any (array(select decode(x, 'hex') from unnest($2::text[]) as x)) and l.state = 'D' and l.keep_until > clock_timestamp()`,
    values: [scope, keys],
  }
}

export interface SwapSources extends LeaseKeys {
  /** $4: as they were read; empty: none. */
  readonly from: readonly string[]
  /** $5 */
  readonly to: readonly string[]
  /** $6 */
  readonly keepMs: readonly number[]
  /** $7: keys to remove, in hex. */
  readonly removed: readonly string[]
  /** $8: the source of each. */
  readonly removedOf: readonly string[]
}

/**
 * Writes the texts of sources that have not changed, and removes done rows of theirs, in one transaction. Returns the
 * sources that have their new text.
 */
export function swapSources(tables: Tables, swap: SwapSources): Statement<Pick<SourceRow, 'key'>> {
  const { lease } = tables
  const { from, to, keepMs, removed, removedOf } = swap
  return {
    text: `with ${START_DURABLY},
locked as materialized (
  select l.key, x.text, x.keep ${lockedRows(tables, { asked: ASKED, columns: 'x.was, x.text, x.keep', which: MAY_BE_SWAPPED })}
),
changed as (
  update ${lease} l set state = 'D', doubt = false, fp = '', owner = '', rest = locked.text, since = null, cause = null, not_before = null,
    keep_until = greatest(l.keep_until, start.now + locked.keep * ${MILLISECOND})
  from locked, start where l.scope = $1 and l.key = locked.key and l.key = any (array(select key from locked))
  returning l.key
),
made as (
  insert into ${lease} (lease_until, keep_until, fence, attempts, scope, state, doubt, key, fp, owner, rest)
  select '-infinity', start.now + x.keep * ${MILLISECOND}, 1, 0, $1::smallint, 'D', false, decode(x.key, 'hex'), '', '', x.text
  from start, ${ASKED} where x.was = ''
  order by 8
  on conflict (scope, key) do nothing
  returning key
),
swapped as materialized (select key from changed union all select key from made),
gone as (
  delete from ${lease} l
  using (select decode(r.key, 'hex') as key from unnest($7::text[], $8::text[]) as r (key, source) join swapped on swapped.key = decode(r.source, 'hex')) as r
  where l.scope = $1 and l.key = r.key and l.key = any (array(select decode(x, 'hex') from unnest($7::text[]) as x)) and l.state = 'D'
)
select encode(key, 'hex') as key from swapped`,
    values: valuesOf(swap, from, to, keepMs, removed, removedOf),
  }
}

const ASKED = 'unnest($3::text[], $4::text[], $5::text[], $6::float8[]) as x (key, was, text, keep)'

/** A row that is over, or that a person has decided about, is none. */
const MAY_BE_SWAPPED = `(l.state = 'D' and l.keep_until > start.now and l.rest in (x.was, x.text)
    or x.was = '' and (l.state <> 'D' or l.keep_until <= start.now))`
