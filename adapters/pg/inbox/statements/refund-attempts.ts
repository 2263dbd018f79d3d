import { insertKeys } from './claim-keys.ts'
import { FOR_EVER } from './let-run.ts'
import { isAmong, text } from '../../statements/literals.ts'
import { removeHeld } from './remove-keys.ts'
import type { Script } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'

interface Refund {
  readonly scope: number
  readonly keys: readonly string[]
  readonly token: string
}

/**
 * Gives the attempts of one claim back, in a transaction that holds their keys, or for a claim that was never granted.
 * If an attempt vanished beside a row that a handler has committed, that row would count as done. Locks the rows. Finds
 * none that were given back before, or counted again by a later claim: the owner token shows whose attempt the last one
 * is.
 */
export function refundAttempts({ attempt }: Tables, { scope, keys, token }: Refund): Script {
  const mine = `scope = ${scope} and key ${isAmong(keys)} and owner = ${text(token)}`
  return {
    text: `delete from ${attempt} where ${mine} and n <= 1 and last_at <> '${FOR_EVER}';
update ${attempt} set n = n - 1, owner = '' where ${mine}`,
  }
}

/**
 * The same after the transaction that held the keys is gone. Takes the keys again: waits for a backend that may still
 * be running (55P03 after `lock_timeout`), and gives nothing back for a key that has a record by now.
 */
export function refundLostAttempts(tables: Tables, { scope, keys, token }: Refund): Script {
  const items = keys.map((key) => ({ key, fp: null }))
  const mine = `a.scope = held.scope and a.key = held.key and a.owner = ${text(token)}` // mutant: pg-attempt-of-another-given-back
  return {
    text: `with held as (${insertKeys(tables, scope, items)} returning scope, key),
gone as (delete from ${tables.attempt} a using held where ${mine} and a.n <= 1 and a.last_at <> '${FOR_EVER}')
update ${tables.attempt} a set n = a.n - 1, owner = '' from held where ${mine} and (a.n > 1 or a.last_at = '${FOR_EVER}');
${removeHeld(tables, scope, keys).text}`,
  }
}
