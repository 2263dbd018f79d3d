import { FOR_EVER } from './let-run.ts'
import { isAmong, text } from './literals.ts'
import type { Script } from './statement.ts'
import type { Tables } from './tables.ts'
import { QUICKLY } from './transaction.ts'

interface Refund {
  readonly scope: number
  readonly keys: readonly string[]
  readonly token: string
}

/**
 * Gives the attempts of one claim back, committed by itself. Locks their rows. Finds none where they were given back
 * before, or counted again by a later claim: the owner token says whose attempt the last one is.
 */
export function refundAttempts({ attempt }: Tables, { scope, keys, token }: Refund): Script {
  const mine = `scope = ${scope} and key ${isAmong(keys)} and owner = ${text(token)}`
  return {
    text: `select ${QUICKLY};
delete from ${attempt} where ${mine} and n <= 1 and last_at <> '${FOR_EVER}';
update ${attempt} set n = n - 1, owner = '' where ${mine}`,
  }
}
