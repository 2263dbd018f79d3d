import { ascii, bytes, hasKey, inHex } from './literals.ts'
import type { Script } from './script.ts'
import type { Tables } from './tables.ts'

export interface CountedRow {
  readonly k: string
  readonly n: number
  /** This claim's is among them: 1 or 0. */
  readonly is_counted: number
  /** A person has let it run (`letRun`): 1 or 0. */
  readonly is_known: number
}

/** `last_at` of what a person has let run: no purge takes it, and no refund, until it is marked or set aside. */
const FOR_EVER = `'9999-12-31'`

interface Counting {
  readonly scope: number
  /** In their order. */
  readonly keys: readonly string[]
  readonly owner: string
  readonly alone: boolean
}

/**
 * Counts an attempt for each key, committed by itself before the handler starts, so that a message that kills the process
 * is found out. Only for keys whose inbox row the caller holds: nobody else counts them meanwhile. A key is not counted
 * where it has an earlier attempt and the claim is not alone. One that a person has let run has none. The owner token makes the script
 * safe to send again: a claim counts once. (Columns are assigned from left to right.)
 */
export function countAttempts({ attempt }: Tables, { scope, keys, owner, alone }: Counting): Script<CountedRow> {
  const rows = keys.map((key) => `(${scope}, ${bytes(key)}, ${ascii(owner)}, 1, utc_timestamp(6))`)
  const again = alone
    ? 'n = n + (owner <> values(owner)), owner = values(owner), last_at = greatest(last_at, values(last_at))'
    : 'owner = if(n = 0, values(owner), owner), n = greatest(n, 1)'
  return {
    statements: [
      `insert into ${attempt} (scope, \`key\`, owner, n, last_at) values ${rows.join(', ')} on duplicate key update ${again}`,
      `select ${inHex('`key`')} as k, n, owner = ${ascii(owner)} as is_counted, last_at = ${FOR_EVER} as is_known
from ${attempt} where ${hasKey(scope, keys)}`,
    ],
  }
}

/**
 * Gives the attempts of one claim back, committed by itself. Locks their rows. Finds none where they were given back
 * before, or counted again by a later claim: the owner token says whose attempt the last one is.
 */
export function refundAttempts({ attempt }: Tables, { scope, keys, owner }: Omit<Counting, 'alone'>): Script {
  const mine = `${hasKey(scope, keys)} and owner = ${ascii(owner)}`
  return {
    statements: [
      `delete from ${attempt} where ${mine} and n <= 1 and last_at < ${FOR_EVER}`,
      `update ${attempt} set n = n - 1, owner = '' where ${mine}`,
    ],
  }
}

/** Removes attempts, in the transaction that ends what they were of. */
export function forgetAttempts({ attempt }: Tables, scope: number, keys: readonly string[]): Script {
  return { statements: [`delete from ${attempt} where ${hasKey(scope, keys)}`] }
}

/**
 * All attempts for what a person has let run, in the transaction of the decision. A row without attempts stays, and tells that the key
 * is known: else a message that is older than retention would look like one whose record was forgotten.
 */
export function letRun({ attempt }: Tables, scope: number, keys: readonly string[]): Script {
  const rows = keys.map((key) => `(${scope}, ${bytes(key)}, '', 0, ${FOR_EVER})`)
  return {
    statements: [
      `insert into ${attempt} (scope, \`key\`, owner, n, last_at) values ${rows.join(', ')}
on duplicate key update owner = '', n = 0, last_at = ${FOR_EVER}`,
    ],
  }
}

/** Locks nothing. */
export function readAttempts(
  { attempt }: Tables,
  scope: number,
  keys: readonly string[],
): Script<Pick<CountedRow, 'k' | 'n'>> {
  return { statements: [`select ${inHex('`key`')} as k, n from ${attempt} where ${hasKey(scope, keys)}`] }
}
