import { isAmong } from '../../statements/literals.ts'
import type { Script } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'

/**
 * Removes the attempts of marked keys, in the transaction of the mark and in the message of its COMMIT. To count
 * attempts of a key a claim must hold its inbox row, which this transaction holds, so it waits for nothing.
 */
export function forgetAttempts({ attempt }: Tables, scope: number, keys: readonly string[]): Script {
  return { text: `delete from ${attempt} where scope = ${scope} and key ${isAmong(keys)}` }
}
