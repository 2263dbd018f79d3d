import type { Tables } from './tables.ts'
import { DURABLY, QUICKLY } from './transaction.ts'

/**
 * Of the column `state`: processing, released, done, given up, parked. What is processing or released in doubt has `doubt`;
 * `rest` is the result of what is done, and the reason of what was set aside.
 */
export type LeaseState = 'P' | 'R' | 'D' | 'G' | 'X'

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

/**
 * What follows `select ...`: locks the rows of the keys that pass `which`, in the order of keys, so that two batches never wait
 * for each other in a circle. What it returns of them is what the lock has found, and not what the statement saw first.
 */
export function lockedRows({ lease }: Tables, asked: string, which = 'true'): string {
  return `from start, ${asked} join ${lease} l on l.scope = $1 and l.key = decode(x.key, 'hex')
  where ${which} order by l.key for update of l`
}

/** Retention is the other clock: it ends a record in any state but `X`, and is not the lease. */
export const IS_OVER = 'l.keep_until <= start.now'

/** The owner of a claim that has not ended. The deadline is not looked at: a lease that merely ran out is not lost. */
export const IS_OWNED_BY = (owner: string): string => `l.state = 'P' and l.owner = ${owner}`

export const MILLISECOND = `interval '1 millisecond'`

export function millisecondsUntil(time: string): string {
  return `ceil(extract(epoch from ${time} - start.now) * 1000)::float8`
}
