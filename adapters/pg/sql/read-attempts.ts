import { epochMs, isAmong } from './literals.ts'
import type { Script } from './statement.ts'
import type { Tables } from './tables.ts'

/** What is kept of a key that was tried. */
export interface AttemptRow {
  readonly key: string
  readonly n: number
  readonly fp: string | null
  /** Until its backoff is over, in milliseconds by the clock of the server; not above 0: it is over. */
  readonly wait_ms: number
  /** Milliseconds since 1970; `null`: there is no backoff. */
  readonly not_before: number | null
  readonly cause: string | null
}

/** Locks nothing. A key that is not returned was never tried, or ended. */
export function readAttempts({ attempt }: Tables, scope: number, keys: readonly string[]): Script<AttemptRow> {
  return {
    text: `select encode(key, 'hex') as key, n, encode(fp, 'hex') as fp, cause, ${epochMs('not_before')} as not_before,
  coalesce(ceil(extract(epoch from not_before - clock_timestamp()) * 1000), 0)::float8 as wait_ms
from ${attempt} where scope = ${scope} and key ${isAmong(keys)}`,
  }
}
