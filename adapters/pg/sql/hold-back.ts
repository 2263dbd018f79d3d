import { isAmong, text } from './literals.ts'
import type { Script } from './statement.ts'
import type { Tables } from './tables.ts'

interface HoldingBack {
  readonly scope: number
  readonly keys: readonly string[]
  readonly token: string
  readonly delayMs: number
  readonly cause: string | undefined
}

/**
 * Keeps until when a failed attempt holds the next one back, and why it failed. Locks the rows of attempts. Not of what a later
 * claim has counted: the owner token says whose attempt the last one is. The clock is that of the server as it runs: a
 * transaction has begun before its handlers.
 */
export function holdBack({ attempt }: Tables, { scope, keys, token, delayMs, cause }: HoldingBack): Script {
  const until = delayMs > 0 ? `clock_timestamp() + ${Math.ceil(delayMs)} * interval '1 ms'` : 'null'
  return {
    text: `update ${attempt} set not_before = ${until}, cause = ${cause === undefined ? 'null' : text(cause)}
where scope = ${scope} and key ${isAmong(keys)} and owner = ${text(token)}`,
  }
}
