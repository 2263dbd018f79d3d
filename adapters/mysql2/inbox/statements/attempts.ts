import { ascii, bytes, epochMs, hasKey, inHex, text } from '../../statements/literals.ts'
import type { Script } from '../../statements/script.ts'
import type { Tables } from '../../statements/tables.ts'

/** The stored attempts of a key. All fields but numbers are in hex. */
export interface TriedRow {
  readonly k: string
  readonly n: number
  readonly fp: string | null
  /** Time until the end of its backoff, in milliseconds; 0 or less: it is over, or there is none. */
  readonly wait_ms: number | string
  readonly not_before_ms: number | string | null
  readonly cause: string | null
}

const TRIED = `${inHex('`key`')} as k, n, ${inHex('fp')} as fp, hex(cause) as cause, ${epochMs('not_before')} as not_before_ms,
  coalesce(timestampdiff(microsecond, utc_timestamp(6), not_before), 0) / 1000 as wait_ms`

export interface CountedRow extends TriedRow {
  /** 1 if the attempt of this claim is counted, else 0. */
  readonly is_counted: number
  /** 1 if a person has let it run (`letRun`), else 0. */
  readonly is_known: number
}

/**
 * `last_at` of a key that a person has let run: neither a purge nor a refund removes it until it is marked or set
 * aside.
 */
const FOR_EVER = `'9999-12-31'`

interface Counting {
  readonly scope: number
  /** In order. */
  readonly items: readonly { readonly key: string; readonly fp: string | null }[]
  readonly owner: string
  readonly alone: boolean
}

/**
 * Counts an attempt for each key, committed by itself before the handler starts, so that a message that kills the
 * process is found. The caller must hold the inbox rows of the keys, so that nobody else counts them meanwhile. A key
 * is not counted if it has an earlier attempt and the claim is not alone, if its backoff is not over, or if another
 * payload was tried with its ID. None of that applies to a key that a person has let run. The owner token makes the
 * script safe to send again: a claim counts once. (Columns are assigned from left to right.)
 */
export function countAttempts({ attempt }: Tables, { scope, items, owner, alone }: Counting): Script<CountedRow> {
  const keys = items.map(({ key }) => key)
  const rows = items.map(
    ({ key, fp }) => `(${scope}, ${bytes(key)}, ${ascii(owner)}, 1, utc_timestamp(6), ${bytes(fp)})`,
  )
  const isFree = `(not_before is null or not_before <= utc_timestamp(6))
  and (fp is null or values(fp) is null or fp = values(fp))`
  const isOurs = 'owner = values(owner)'
  const counted = alone
    ? `n = n + if(${isFree} and owner <> values(owner), 1, 0), owner = if(${isFree}, values(owner), owner),
last_at = if(${isOurs}, greatest(last_at, values(last_at)), last_at)`
    : `owner = if(n = 0 and ${isFree}, values(owner), owner), n = if(${isOurs}, greatest(n, 1), n)`
  const again = `${counted}, fp = if(${isOurs}, values(fp), fp), cause = if(${isOurs}, null, cause), not_before = if(${isOurs}, null, not_before)`
  return {
    statements: [
      `insert into ${attempt} (scope, \`key\`, owner, n, last_at, fp) values ${rows.join(', ')} on duplicate key update ${again}`,
      `select ${TRIED}, owner = ${ascii(owner)} as is_counted, last_at = ${FOR_EVER} as is_known
from ${attempt} where ${hasKey(scope, keys)}`,
    ],
  }
}

interface Ended {
  readonly scope: number
  readonly keys: readonly string[]
  readonly owner: string
}

/**
 * Writes the end of the backoff and the cause of a failed attempt, committed by itself. Does not change a row that a
 * later claim has counted.
 */
export function holdBack(
  { attempt }: Tables,
  { scope, keys, owner, delayMs, cause }: Ended & { readonly delayMs: number; readonly cause: string | undefined },
): Script {
  const until = delayMs > 0 ? `date_add(utc_timestamp(6), interval ${Math.round(delayMs * 1_000)} microsecond)` : 'null'
  const kept = `not_before = ${until}, cause = ${text(cause)}`
  return { statements: [`update ${attempt} set ${kept} where ${hasKey(scope, keys)} and owner = ${ascii(owner)}`] }
}

/**
 * Gives the attempts of one claim back, committed by itself. Locks the rows. Finds none that were given back before, or
 * counted again by a later claim: the owner token shows whose attempt the last one is.
 */
export function refundAttempts({ attempt }: Tables, { scope, keys, owner }: Ended): Script {
  const mine = `${hasKey(scope, keys)} and owner = ${ascii(owner)}`
  return {
    statements: [
      `delete from ${attempt} where ${mine} and n <= 1 and last_at < ${FOR_EVER}`,
      `update ${attempt} set n = n - 1, owner = '' where ${mine}`,
    ],
  }
}

/** Removes attempts, in the transaction that ends their messages. */
export function forgetAttempts({ attempt }: Tables, scope: number, keys: readonly string[]): Script {
  return { statements: [`delete from ${attempt} where ${hasKey(scope, keys)}`] }
}

/**
 * Restores all attempts of keys that a person has let run, in the transaction of the decision. A row without attempts
 * stays, and shows that the key is known: otherwise a message older than retention would look like one whose record was
 * removed.
 */
export function letRun({ attempt }: Tables, scope: number, keys: readonly string[]): Script {
  const rows = keys.map((key) => `(${scope}, ${bytes(key)}, '', 0, ${FOR_EVER})`)
  return {
    statements: [
      `insert into ${attempt} (scope, \`key\`, owner, n, last_at) values ${rows.join(', ')}
on duplicate key update owner = '', n = 0, last_at = ${FOR_EVER}, fp = null, not_before = null, cause = null`,
    ],
  }
}

/** Locks nothing. */
export function readAttempts({ attempt }: Tables, scope: number, keys: readonly string[]): Script<TriedRow> {
  return { statements: [`select ${TRIED} from ${attempt} where ${hasKey(scope, keys)}`] }
}
