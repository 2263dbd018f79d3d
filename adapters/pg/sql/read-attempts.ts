import { isAmong } from './literals.ts'
import type { Script } from './statement.ts'
import type { Tables } from './tables.ts'

export interface AttemptRow {
  readonly key: string
  readonly n: number
}

/** Locks nothing. A key that is not returned was never tried, or ended. */
export function readAttempts({ attempt }: Tables, scope: number, keys: readonly string[]): Script<AttemptRow> {
  return { text: `select encode(key, 'hex') as key, n from ${attempt} where scope = ${scope} and key ${isAmong(keys)}` }
}
