import type { Tables } from './tables.ts'
import { DURABLY, QUICKLY } from './transaction.ts'

/** The first parameters of every statement. */
export interface LeaseKeys {
  /** $1 */
  readonly scope: number
  /** $2: how long a lock is waited for (then 55P03). No lock is held for longer than a statement, unless a server is frozen. */
  readonly lockTimeoutMs: number
  /** $3: in hex, distinct. */
  readonly keys: readonly string[]
}

export function valuesOf({ scope, lockTimeoutMs, keys }: LeaseKeys, ...others: readonly unknown[]): readonly unknown[] {
  return [scope, String(lockTimeoutMs), keys, ...others]
}

/**
 * `start.now`: one time for the whole statement, of the server's clock as it runs and not of its transaction's begin. A lock
 * that is waited for makes it older, which lets a lease of another seem longer and one's own shorter: both are safe.
 */
function startOf(durability: string): string {
  return `start as materialized (select clock_timestamp() as now, ${durability}, set_config('lock_timeout', $2, true))`
}

/** For what must survive a crash of the server. */
export const START_DURABLY: string = startOf(DURABLY)

/** For what may be forgotten by it: the record is then as if the call had not come, and its lease ends by itself. */
export const START_QUICKLY: string = startOf(QUICKLY)

interface AskedRows {
  /** A relation `x` with a column `key`, in hex. */
  readonly asked: string
  readonly columns: string
  /** Of `l`, the row as the lock has found it, and `x`. */
  readonly which?: string
}

/**
 * What follows `select ...`: locks the rows of the keys that pass `which`, in the order of keys, so that two batches never wait
 * for each other in a circle. `l` is what the lock has found, and not what the statement saw first. Row by row and by the index,
 * whatever the planner thinks of the size of the table: it would rather read all of one that has less than some 300,000 rows.
 */
export function lockedRows({ lease }: Tables, { asked, columns, which = 'true' }: AskedRows): string {
  return `from start,
    (select decode(x.key, 'hex') as key, ${columns} from ${asked} order by 1) as x
    cross join lateral (
      select l.*, ${IS_OVER} as is_over from ${lease} l where l.scope = $1 and l.key = x.key and ${which} for update
    ) as l`
}

/** Joins what is updated, `l`, with what was locked. By the index too: the array is all keys, for the planner ten. */
export function isAmong(locked: string): string {
  return `l.scope = $1 and l.key = ${locked}.key and l.key = any (array(select key from ${locked}))`
}

/** Retention is the other clock: it ends a record in any state but `X`, and is not the lease. */
export const IS_OVER = 'l.keep_until <= start.now'

/** The owner of a claim that has not ended. The deadline is not looked at: a lease that merely ran out is not lost. */
export const IS_OWNED_BY = (owner: string): string => `l.state = 'P' and l.owner = ${owner}`

/** $4: the owner of each key. */
export const KEYS_OF_OWNERS = 'unnest($3::text[], $4::text[]) as x (key, owner)'

export const MILLISECOND = `interval '1 millisecond'`

/** What a lease, or a backoff, has left, in milliseconds; 0 where there is none. */
export const LEFT_MS = `case
    when l.state = 'P' then ceil(extract(epoch from l.lease_until - start.now) * 1000)::float8
    when l.state = 'R' and l.not_before is not null then ceil(extract(epoch from l.not_before - start.now) * 1000)::float8
    else 0
  end`
