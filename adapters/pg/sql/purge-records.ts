import { text } from './literals.ts'
import type { Script } from './statement.ts'
import type { Tables } from './tables.ts'

export interface AloneRow {
  readonly is_alone: boolean
}

export interface PurgedRow {
  readonly records: number
  readonly attempts: number
  /** Of the table. */
  readonly pages: number
}

export interface Purge {
  readonly scope: number
  readonly retentionMs: number
  readonly limit: number
  /** To be looked through; `undefined`: all, by the index. */
  readonly pages: { readonly from: number; readonly to: number } | undefined
}

/** Until the transaction ends nobody else purges the scope. `false`: somebody does. Waits for nothing. */
export function purgeAlone({ schema }: Tables, scope: number): Script<AloneRow> {
  const lock = text(`consume-once purge ${schema} ${scope}`)
  return { text: `select pg_try_advisory_xact_lock(hashtextextended(${lock}, 0)) as is_alone` }
}

/**
 * Removes what was done or given up longer ago than retention, and attempts of what never ended; what is parked waits for a
 * person, and so does what nobody can read, and what is torn (read-records.ts): neither its row nor its attempt is removed. Locks the rows that it removes; passes over those that somebody else holds: their retention may begin anew. The
 * same place is another row in each partition, hence what is old is asked twice. Gives up (57014) after two seconds. One row.
 */
export function purgeRecords(
  { inbox, attempt }: Tables,
  { scope, retentionMs, limit, pages }: Purge,
): Script<PurgedRow> {
  const before = `now() - interval '${retentionMs} milliseconds'`
  const isOld = `scope = ${scope} and outcome in ('d', 'g') and done_at < ${before}`
  const within = pages === undefined ? '' : ` and ctid >= '(${pages.from},0)'::tid and ctid < '(${pages.to},0)'::tid`
  const isWhole = `not exists (select from ${attempt} a where a.scope = i.scope and a.key = i.key)`
  const isNotTorn = `not exists (select from ${inbox} i where i.scope = a.scope and i.key = a.key)`
  return {
    text: `set local statement_timeout = '2s';
with removed as (
  delete from ${inbox} where ctid = any (array(
    select ctid from ${inbox} i where ${isOld}${within} and ${isWhole} limit ${limit} for update skip locked)) and ${isOld}
  returning 1
), forgotten as (
  delete from ${attempt} where ctid = any (array(
    select ctid from ${attempt} a where scope = ${scope} and last_at < ${before} and ${isNotTorn} limit ${limit} for update skip locked))
  returning 1
)
select (select count(*) from removed)::int as records, (select count(*) from forgotten)::int as attempts,
  (select max(pg_relation_size(relid)) / current_setting('block_size')::int from pg_partition_tree('${inbox}'))::int as pages`,
  }
}
