import { text } from '../../statements/literals.ts'
import type { Script } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'
import { tornKeys } from './claims.ts'

export interface AloneRow {
  readonly is_alone: boolean
}

export interface PurgedRow {
  readonly records: number
  /** Rows of attempts and of claims. */
  readonly attempts: number
  /** Pages of the table. */
  readonly pages: number
}

export interface Purge {
  readonly scope: number
  readonly retentionMs: number
  readonly limit: number
  /** Pages to look through; `undefined`: all, by the index. */
  readonly pages: { readonly from: number; readonly to: number } | undefined
}

/**
 * Excludes other purges of the scope until the transaction ends. `false`: another one is running. Waits for nothing.
 */
export function purgeAlone({ schema }: Tables, scope: number): Script<AloneRow> {
  const lock = text(`consume-once purge ${schema} ${scope}`)
  return { text: `select pg_try_advisory_xact_lock(hashtextextended(${lock}, 0)) as is_alone` }
}

/**
 * Removes records that were done or given up longer ago than retention and whose own end is over, and attempts of
 * messages that never ended. The index finds old rows; whoever purges with a longer retention removes them later.
 * Parked records wait for a person, and so do unreadable and torn ones (records.ts): neither the row nor its
 * attempt is removed. Locks the rows that it removes, and skips those that others hold, because their retention may
 * begin anew. The same ctid exists in each partition, so the age is checked twice. Gives up (57014) after two seconds.
 * The scope keeps how far it was purged. One row.
 */
export function purgeRecords(tables: Tables, { scope, retentionMs, limit, pages }: Purge): Script<PurgedRow> {
  const { inbox, attempt, claim, scope: scopes } = tables
  const before = `now() - interval '${retentionMs} milliseconds'`
  const isOver = (since: string): string => `${since} < ${before} and keep_until < now()`
  const isOld = `scope = ${scope} and outcome in ('d', 'g') and ${isOver('done_at')}` // mutant: pg-parked-purged
  const inPages = pages === undefined ? '' : ` and ctid >= '(${pages.from},0)'::tid and ctid < '(${pages.to},0)'::tid`
  const isWhole = `i.key <> all (${tornKeys(tables, scope)})`
  const isNotTorn = `a.key <> all (${tornKeys(tables, scope)})`
  const isLeft = `not exists (select from ${inbox} i where i.scope = c.scope and i.key = any (c.keys) and c.phase = 'h')`
  // A process died, and all of its keys have a record by now.
  const isEnded = `phase <> 'h' and at < now() - interval '1 minute' and not exists (
      select from unnest(c.keys) as k where not exists (select from ${inbox} i where i.scope = c.scope and i.key = k))`
  return {
    text: `set local statement_timeout = '2s';
with removed as (
  delete from ${inbox} where ctid = any (array(
    select ctid from ${inbox} i where ${isOld}${inPages} and ${isWhole} limit ${limit} for update skip locked)) and ${isOld}
  returning 1
), forgotten as (
  delete from ${attempt} where ctid = any (array(
    select ctid from ${attempt} a where scope = ${scope} and ${isOver('last_at')} and ${isNotTorn} limit ${limit} for update skip locked))
  returning 1
), withdrawn as (
  delete from ${claim} where ctid = any (array(
    select ctid from ${claim} c where scope = ${scope} and (keys = '{}' or ${isOver('at')} and ${isLeft} or ${isEnded}) limit ${limit} for update skip locked))
  returning keys
), bounded as (
  update ${scopes} set purged_to = greatest(purged_to, ${before}) where id = ${scope} and exists (select from removed)
)
select (select count(*) from removed)::int as records, ((select count(*) from forgotten) + (select count(*) from withdrawn where keys <> '{}'))::int as attempts,
  (select max(pg_relation_size(relid)) / current_setting('block_size')::int from pg_partition_tree('${inbox}'))::int as pages`,
  }
}
