import { isAmong } from './literals.ts'
import type { Script } from './statement.ts'
import type { Tables } from './tables.ts'

/**
 * Removes the attempts of what is being marked, in the transaction of the mark and in the message of its COMMIT. Whoever
 * counts attempts of a key holds its inbox row, which this transaction does, so nothing is waited for.
 */
export function forgetAttempts({ attempt }: Tables, scope: number, keys: readonly string[]): Script {
  return { text: `delete from ${attempt} where scope = ${scope} and key ${isAmong(keys)}` }
}
