import type { Tables } from '../../statements/tables.ts'
import { DURABLY, QUICKLY } from '../../statements/transaction.ts'

/** The first parameters of every statement. */
export interface LeaseKeys {
  /** $1 */
  readonly scope: number
  /**
   * $2: how long to wait for a lock (then 55P03). No lock is held for longer than a statement, unless a server freezes.
   */
  readonly lockTimeoutMs: number
  /** $3: in hex, distinct. */
  readonly keys: readonly string[]
}

export function valuesOf({ scope, lockTimeoutMs, keys }: LeaseKeys, ...others: readonly unknown[]): readonly unknown[] {
  return [scope, String(lockTimeoutMs), keys, ...others]
}

/**
 * `start.now`: one time for the whole statement, the server's current time and not the start of its transaction. After
 * a wait for a lock it is in the past, so another's lease seems longer and one's own shorter: both are safe.
 */
function startOf(durability: string): string {
  return `start as materialized (select clock_timestamp() as now, ${durability}, set_config('lock_timeout', $2, true))`
}

/** For writes that must survive a crash of the server. */
export const START_DURABLY: string = startOf(DURABLY)

/**
 * For writes that a crash may lose: the record is then as if the call had not been made, and its lease ends by itself.
 */
export const START_QUICKLY: string = startOf(QUICKLY)

interface AskedRows {
  /** A relation `x` with a column `key`, in hex. */
  readonly asked: string
  readonly columns: string
  /** A condition on `l`, the row as the lock found it, and `x`. */
  readonly which?: string
}

/**
 * The part after `select ...`: locks the rows of the keys for which `which` is true, in the order of keys, so that two
 * batches cannot deadlock. `l` is the row as the lock found it, not as the statement first saw it. The lateral join
 * makes the planner use the index for each row, whatever size it assumes: it would prefer a full scan of a table with
 * less than about 300,000 rows.
 */
export function lockedRows({ lease }: Tables, { asked, columns, which = 'true' }: AskedRows): string {
  // mutant: pg-lease-unlocked
  return `from start,
    (select decode(x.key, 'hex') as key, ${columns} from ${asked} order by 1) as x
    cross join lateral (
      select l.*, ${IS_OVER} as is_over from ${lease} l where l.scope = $1 and l.key = x.key and ${which} for update
    ) as l`
}

/** Joins the updated rows, `l`, with the locked ones. It uses the index too: for the planner the array has ten keys. */
export function isAmong(locked: string): string {
  return `l.scope = $1 and l.key = ${locked}.key and l.key = any (array(select key from ${locked}))`
}

/** Retention is separate from the lease. It removes a record in any state except `X`. */
export const IS_OVER = 'l.keep_until <= start.now'

/**
 * The owner of a claim that has not ended. The deadline does not matter: a lease that has ended is not lost until
 * somebody takes over.
 */
export const IS_OWNED_BY = (owner: string): string => `l.state = 'P' and l.owner = ${owner}`

/** $4: the owner of each key. */
export const KEYS_OF_OWNERS = 'unnest($3::text[], $4::text[]) as x (key, owner)'

export const MILLISECOND = `interval '1 millisecond'`

/** Remaining time of a lease or a backoff, in milliseconds; 0 if there is none. */
export const LEFT_MS = `case
    when l.state = 'P' then ceil(extract(epoch from l.lease_until - start.now) * 1000)::float8
    when l.state = 'R' and l.not_before is not null then ceil(extract(epoch from l.not_before - start.now) * 1000)::float8
    else 0
  end`
