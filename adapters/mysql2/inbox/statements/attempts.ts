import type { AttemptRow } from '../../../sql/inbox/statements.ts'
import type { StoredKey } from '../../../sql/bytes.ts'
import {
  ascii,
  byKey,
  bytes,
  deleteKeys,
  epochMs,
  fromHex,
  fromNow,
  hasKey,
  inHex,
  text,
  updateKeys,
} from '../../statements/literals.ts'
import type { Script } from '../../statements/script.ts'
import type { Tables } from '../../statements/tables.ts'
import { insertKeys, removeInserted } from './records.ts'

/** All fields but numbers are in hex. Big numbers may come as text. */
interface TriedRow {
  readonly k: string
  readonly n: number
  readonly fp: string | null
  readonly wait_ms: number | string
  readonly age_ms: number | string
  readonly not_before_ms: number | string | null
  readonly cause: string | null
}

/**
 * `last_at` of a key that a person has let run: neither a purge nor a refund removes it until it is marked or set
 * aside.
 */
const FOR_EVER = `'9999-12-31'`

const TRIED = `${inHex('`key`')} as k, n, ${inHex('fp')} as fp, hex(cause) as cause, ${epochMs('not_before')} as not_before_ms,
  coalesce(timestampdiff(microsecond, utc_timestamp(6), not_before), 0) / 1000 as wait_ms,
  if(last_at < ${FOR_EVER}, timestampdiff(microsecond, last_at, utc_timestamp(6)) / 1000, 1e15) as age_ms`

interface Counting {
  readonly scope: number
  /** In order. */
  readonly items: readonly StoredKey[]
  readonly owner: string
  readonly keepMs: number
}

/** A counted attempt. */
interface CountedRow {
  readonly k: string
  readonly n: number
  /** 1 if a person has let it run (`letRun`), else 0. */
  readonly is_known: number | string
}

/**
 * Counts the first attempt of each key, committed by itself before the transaction of the claim begins, so that a
 * message that kills the process is found. A key that already has an attempt is neither counted nor returned: another
 * transaction may hold it, or it has failed before and must be claimed alone, if its backoff is over and its payload is
 * the same. A key that a person has let run has no attempts. The owner token makes the statement safe to send again: a
 * claim counts once. (Columns are assigned from left to right.)
 *
 * The caller has looked for records of several keys; a single key is counted only if it has none. An attempt beside a
 * record that was written in between does no harm, and a purge removes it.
 */
export function countFirst(tables: Tables, { scope, items, owner, keepMs }: Counting): Script<CountedRow> {
  const rows = items.map(
    ({ key, fp }) => `${scope}, ${bytes(key)}, ${ascii(owner)}, 1, utc_timestamp(6), ${fromNow(keepMs)}, ${bytes(fp)}`,
  )
  const [first, second] = items
  const values =
    first !== undefined && second === undefined
      ? `select ${rows[0]} from dual where not exists (select 1 from ${tables.inbox} where ${hasKey(scope, [first.key])})`
      : `values ${rows.map((row) => `(${row})`).join(', ')}`
  return counting(tables, { scope, items, owner, keepMs }, values, [
    `owner = if(n = 0 and ${IS_FREE}, values(owner), owner)`,
    `n = if(${IS_OURS}, greatest(n, 1), n)`,
  ])
}

/**
 * Counts one more attempt for each key that nobody else holds, committed by itself. Meanwhile it holds each key with a
 * row of the inbox that it removes again, so that a claim that finds the key busy counts nothing. Waits for a
 * transaction that holds one of them (1205). A key that is not returned has a record, or waits for the end of its
 * backoff, or was tried with another payload. Between this COMMIT and the claim another claim may take the key: then
 * the count is given back, unless that claim has counted too.
 */
export function countNext(tables: Tables, { scope, items, owner, keepMs }: Counting): Script<CountedRow> {
  const keys = items.map(({ key }) => key)
  const holder = `${owner} counts`
  const held = `select \`key\` as held_key, fp as held_fp from ${tables.inbox} ${byKey(tables, 'inbox')}
  where ${hasKey(scope, keys)} and owner = ${ascii(holder)} and outcome = 'c'`
  const values = `select ${scope}, held_key, ${ascii(owner)}, 1, utc_timestamp(6), ${fromNow(keepMs)}, held_fp from (${held}) as held order by held_key`
  const counted = counting(tables, { scope, items, owner, keepMs }, values, [
    `n = n + if(${IS_FREE} and owner <> values(owner), 1, 0)`,
    `owner = if(${IS_FREE}, values(owner), owner)`,
    `last_at = if(${IS_OURS}, greatest(last_at, values(last_at)), last_at)`,
  ])
  return {
    statements: [
      insertKeys(tables, { scope, items, owner: holder }),
      ...counted.statements,
      ...removeInserted(tables, scope, keys, holder).statements,
    ],
  }
}

/** The backoff is over by the server's clock, and no other payload was tried with the ID. */
const IS_FREE = `(not_before is null or not_before <= utc_timestamp(6))
  and (fp is null or values(fp) is null or fp = values(fp))`

const IS_OURS = 'owner = values(owner)'

function counting(
  { attempt }: Tables,
  { scope, items, owner }: Counting,
  values: string,
  counted: readonly string[],
): Script<CountedRow> {
  const again = [
    ...counted,
    `fp = if(${IS_OURS}, values(fp), fp)`,
    `keep_until = greatest(coalesce(keep_until, values(keep_until)), values(keep_until))`,
    `cause = if(${IS_OURS}, null, cause)`,
    `not_before = if(${IS_OURS}, null, not_before)`,
  ]
  const keys = items.map(({ key }) => key)
  return {
    statements: [
      `insert into ${attempt} (scope, \`key\`, owner, n, last_at, keep_until, fp) ${values} on duplicate key update ${again.join(', ')}`,
      `select ${inHex('`key`')} as k, n, last_at = ${FOR_EVER} as is_known
from ${attempt} where ${hasKey(scope, keys)} and owner = ${ascii(owner)}`,
    ],
  }
}

interface Ended {
  readonly scope: number
  readonly keys: readonly string[]
  readonly owner: string
}

/**
 * Writes the end of the backoff and the cause of a failed attempt. Does not change a row that a later claim has counted.
 */
export function holdBack(
  tables: Tables,
  { scope, keys, owner, delayMs, cause }: Ended & { readonly delayMs: number; readonly cause: string | undefined },
): Script {
  const until = delayMs > 0 ? `date_add(utc_timestamp(6), interval ${Math.round(delayMs * 1_000)} microsecond)` : 'null'
  const kept = `not_before = ${until}, cause = ${text(cause)}`
  return { statements: [updateKeys(tables, 'attempt', kept, scope, keys, `owner = ${ascii(owner)}`)] }
}

/**
 * Gives the attempts of one claim back. Locks the rows. Finds none that were given back before, or
 * counted again by a later claim: the owner token shows whose attempt the last one is.
 */
export function refundAttempts(tables: Tables, { scope, keys, owner }: Ended): Script {
  const mine = `owner = ${ascii(owner)}`
  return {
    statements: [
      deleteKeys(tables, 'attempt', scope, keys, `${mine} and n <= 1 and last_at < ${FOR_EVER}`),
      updateKeys(tables, 'attempt', `n = n - 1, owner = ''`, scope, keys, mine),
    ],
  }
}

/** Removes attempts, in the transaction that ends their messages. */
export function forgetAttempts(tables: Tables, scope: number, keys: readonly string[]): Script {
  return { statements: [deleteKeys(tables, 'attempt', scope, keys)] }
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
export function readAttempts({ attempt }: Tables, scope: number, keys: readonly string[]): Script<AttemptRow> {
  return {
    statements: [`select ${TRIED} from ${attempt} where ${hasKey(scope, keys)}`],
    read: ({ k, n, fp, wait_ms: wait, age_ms: age, not_before_ms: notBefore, cause }: TriedRow) => ({
      key: k,
      n,
      fp,
      wait_ms: Math.ceil(Number(wait)),
      age_ms: Number(age),
      not_before: notBefore === null ? null : Number(notBefore),
      cause: cause === null ? null : fromHex(cause),
    }),
  }
}
