import { isAmong } from './literals.ts'
import type { Script } from './statement.ts'
import type { Tables } from './tables.ts'

/**
 * Takes rows that this very transaction has inserted out of it again: they must not become done with the others. Nobody
 * else sees them, so nothing is waited for; all of them are found.
 */
export function removeKeys({ inbox }: Tables, scope: number, keys: readonly string[]): Script {
  return { text: `delete from ${inbox} where scope = ${scope} and key ${isAmong(keys)}` }
}
