import { isAmong, text } from '../../statements/literals.ts'
import type { Script } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'

interface HoldingBack {
  readonly scope: number
  readonly keys: readonly string[]
  readonly token: string
  readonly delayMs: number
  readonly cause: string | undefined
}

/**
 * Writes the end of the backoff and the cause of a failed attempt. Locks the rows of attempts. Does not change a row
 * that a later claim has counted: the owner token shows whose attempt the last one is. It uses the current time of the
 * server, because the transaction began before its handlers.
 */
export function holdBack({ attempt }: Tables, { scope, keys, token, delayMs, cause }: HoldingBack): Script {
  const until = delayMs > 0 ? `clock_timestamp() + ${Math.ceil(delayMs)} * interval '1 ms'` : 'null'
  // mutant: pg-held-back-by-anyone
  return {
    text: `update ${attempt} set not_before = ${until}, cause = ${cause === undefined ? 'null' : text(cause)}
where scope = ${scope} and key ${isAmong(keys)} and owner = ${text(token)}`,
  }
}
