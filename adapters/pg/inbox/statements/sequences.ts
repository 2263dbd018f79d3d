import type { SourceRow, SwapSources } from '../../lease/statements/sequences.ts'
import { fromNow } from '../../statements/literals.ts'
import type { Statement } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'
import { DURABLY } from '../../statements/transaction.ts'

/** A source is a done row whose text is its result. Locks nothing. A source that is not returned has none. */
export function readInboxSources(
  { inbox }: Tables,
  { scope, keys }: { readonly scope: number; readonly keys: readonly string[] },
): Statement<SourceRow> {
  return {
    text: `select encode(i.key, 'hex') as key, i.result as rest from ${inbox} i
where i.scope = $1 and i.key = any (array(select decode(x, 'hex') from unnest($2::text[]) as x)) and i.outcome = 'd'`,
    values: [scope, keys],
  }
}

/**
 * Writes the texts of sources that have not changed, and removes done rows of theirs, in one transaction, whose flush
 * covers the marks of these rows too. Sources are locked in the order of keys, so that two batches cannot deadlock.
 * Returns the sources that have their new text. A source is kept as long as the last of its messages.
 */
export function swapInboxSources({ inbox }: Tables, swap: SwapSources): Statement<Pick<SourceRow, 'key'>> {
  const { scope, lockTimeoutMs, keys, from, to, keepMs, removed, removedOf } = swap
  return {
    text: `with start as materialized (select ${DURABLY}, set_config('lock_timeout', $2, true)),
asked as materialized (
  select decode(x.key, 'hex') as key, x.was, x.text, ${fromNow('x.keep')} as keep_until
  from start, unnest($3::text[], $4::text[], $5::text[], $8::float8[]) as x (key, was, text, keep) order by 1
),
locked as materialized (
  select l.key, asked.text, asked.keep_until from asked cross join lateral (
    select i.key from ${inbox} i
    where i.scope = $1 and i.key = asked.key and i.outcome = 'd' and i.result in (asked.was, asked.text) for update
  ) as l
),
changed as (
  update ${inbox} i set result = locked.text, done_at = now(),
    keep_until = greatest(i.keep_until, locked.keep_until) from locked
  where i.scope = $1 and i.key = locked.key and i.key = any (array(select key from locked))
  returning i.key
),
made as (
  insert into ${inbox} (scope, key, result, keep_until)
  select $1::smallint, asked.key, asked.text, asked.keep_until from asked where asked.was = '' order by 2
  on conflict (scope, key) do nothing
  returning key
),
swapped as materialized (select key from changed union all select key from made),
gone as (
  delete from ${inbox} i
  using (select decode(r.key, 'hex') as key from unnest($6::text[], $7::text[]) as r (key, source) join swapped on swapped.key = decode(r.source, 'hex')) as r
  where i.scope = $1 and i.key = r.key and i.key = any (array(select decode(x, 'hex') from unnest($6::text[]) as x)) and i.outcome = 'd'
)
select encode(key, 'hex') as key from swapped`,
    values: [scope, String(lockTimeoutMs), keys, from, to, removed, removedOf, keepMs],
  }
}
