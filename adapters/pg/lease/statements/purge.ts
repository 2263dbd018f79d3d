import type { Statement } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'
import { QUICKLY } from '../../statements/transaction.ts'

export interface PurgedRow {
  /** Nobody else is purging these records at the moment. */
  readonly is_alone: boolean
  readonly removed: number
  /** Pages of the table. */
  readonly pages: number
}

interface LeasePurge {
  readonly scope: number
  readonly fromPage: number
  readonly toPage: number
  readonly limit: number
}

/**
 * Removes records whose retention has ended from some pages of the table; columns that every claim changes have no
 * index. Waits for nobody: a locked record is about to be claimed or marked, and one purger at a time is enough. One
 * row.
 */
export function purgeLeases({ schema, lease }: Tables, purge: LeasePurge): Statement<PurgedRow> {
  const { scope, fromPage, toPage, limit } = purge
  return {
    text: `with start as materialized (
  select clock_timestamp() as now, ${QUICKLY}, pg_try_advisory_xact_lock(1668244080, hashtext('${schema}')) as is_alone
),
removed as (
  delete from ${lease} where ctid = any (array(
    select l.ctid from start, ${lease} l
    where start.is_alone and l.ctid >= format('(%s,0)', $2::int)::tid and l.ctid < format('(%s,0)', $3::int)::tid
      and l.scope = $1 and l.keep_until <= start.now
    limit $4 for update of l skip locked))
  returning 1
)
select is_alone, (select count(*) from removed)::int as removed,
  (pg_relation_size('${lease}') / current_setting('block_size')::int)::int as pages
from start`,
    values: [scope, fromPage, toPage, limit],
  }
}
