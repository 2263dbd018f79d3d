import type { StoredKey } from '../../../sql/bytes.ts'
import { forgetAttempts } from './attempts.ts'
import { somethingToFlush } from '../../statements/flush.ts'
import { ascii, bytes, epochMs, hasKey, inHex, text } from '../../statements/literals.ts'
import type { Script } from '../../statements/script.ts'
import type { Tables } from '../../statements/tables.ts'

/** In hex, except for the outcome. */
export interface InboxRow {
  readonly k: string
  readonly fp: string | null
  readonly owner: string
  readonly outcome: string
  readonly reason: string | null
  readonly result: string | null
  /** For records that were set aside, like the fields below; `null`: written by code that did not keep it. */
  readonly attempt: number | null
  readonly since_ms: number | string
  readonly cause: string | null
}

const COLUMNS = `${inHex('`key`')} as k, ${inHex('fp')} as fp, ${inHex('owner')} as owner, outcome, hex(reason) as reason, hex(result) as result,
  attempt, ${epochMs('done_at')} as since_ms, hex(cause) as cause`

/** Sees committed rows and those of its own transaction; locks nothing. A key that is not returned has no record. */
export function readInbox({ inbox }: Tables, scope: number, keys: readonly string[]): Script<InboxRow> {
  return { statements: [`select ${COLUMNS} from ${inbox} where ${hasKey(scope, keys)}`] }
}

/** As `readInbox`, for records that lead to a settle: no crash of the server undoes a result. */
export function readFlushed(tables: Tables, scope: number, keys: readonly string[]): Script<InboxRow> {
  return { statements: [...somethingToFlush(tables, scope), ...readInbox(tables, scope, keys).statements] }
}

/** Fails with 1205 if a transaction holds the key. Does not wait; on MySQL, whose minimum is 1, it waits a second. */
export function glanceAt({ inbox }: Tables, scope: number, key: string): Script {
  return {
    statements: [
      'set session innodb_lock_wait_timeout = 0',
      `select 1 from ${inbox} where ${hasKey(scope, [key])} for update`,
    ],
  }
}

export interface InboxPage {
  readonly scope: number
  readonly outcomes: readonly string[]
  /** In hex, or empty. */
  readonly after: string
  readonly limit: number
}

/** Locks nothing; in the order of keys. */
export function listInbox({ inbox }: Tables, { scope, outcomes, after, limit }: InboxPage): Script<InboxRow> {
  const wanted = outcomes.map((outcome) => `'${outcome}'`).join(', ')
  const where = `scope = ${scope} and \`key\` > ${bytes(after)} and outcome in (${wanted})`
  return { statements: [`select ${COLUMNS} from ${inbox} where ${where} order by \`key\` limit ${limit}`] }
}

/**
 * Inserts a row for each key and locks it until the transaction ends, in the order of keys. Waits for another open
 * transaction that has inserted the same key (1205 after the lock wait): if that rolls back the row is ours, if it
 * commits the row is not ours, and is unchanged. Not `insert ignore`, which hides other errors too, and not a plain
 * insert, whose waiters take shared locks and deadlock when the owner rolls back (1213). The second statement sees rows
 * that the first one waited for.
 */
export function claimKeys(
  tables: Tables,
  { scope, items, owner }: { readonly scope: number; readonly items: readonly StoredKey[]; readonly owner: string },
): Script<InboxRow> {
  const rows = items.map(({ key, fp }) => rowOf({ scope, key, fp, owner, outcome: 'c' }))
  return {
    statements: [
      `insert into ${tables.inbox} ${INTO} values ${rows.join(', ')} on duplicate key update scope = scope`,
      ...readInbox(
        tables,
        scope,
        items.map(({ key }) => key),
      ).statements,
    ],
  }
}

interface NewRow extends StoredKey {
  readonly scope: number
  readonly owner: string
  readonly outcome: string
  readonly reason?: string | null
  readonly result?: string | null
  readonly attempt?: number
  readonly cause?: string | undefined
}

const INTO = '(scope, `key`, fp, owner, outcome, done_at, reason, result, attempt, cause)'

function rowOf({ scope, key, fp, owner, outcome, reason, result, attempt, cause }: NewRow): string {
  const kept = `${text(reason)}, ${text(result)}, ${attempt ?? 'null'}, ${text(cause)}`
  return `(${scope}, ${bytes(key)}, ${bytes(fp)}, ${ascii(owner)}, '${outcome}', utc_timestamp(6), ${kept})`
}

/** Removes rows that this transaction has inserted. Nobody else sees them, so it waits for nothing. */
export function removeKeys({ inbox }: Tables, scope: number, keys: readonly string[]): Script {
  return { statements: [`delete from ${inbox} where ${hasKey(scope, keys)}`] }
}

/** Turns locked rows into done ones, whose retention begins now. */
export function makeDone({ inbox }: Tables, scope: number, keys: readonly string[]): Script {
  const done = `outcome = 'd', reason = null, result = null, done_at = utc_timestamp(6)`
  return { statements: [`update ${inbox} set ${done} where ${hasKey(scope, keys)}`] }
}

/**
 * The mark: turns the claimed rows of this transaction into done ones, with their results by key, and removes their
 * attempts. To count attempts of a key a claim must hold its row, which this transaction holds, so it waits for
 * nothing.
 */
export function markKeys(
  tables: Tables,
  scope: number,
  keys: readonly string[],
  results: ReadonlyMap<string, string>,
): Script {
  const whens = [...results].map(([key, result]) => `when ${bytes(key)} then ${text(result)}`)
  const result = whens.length === 0 ? '' : `, result = case \`key\` ${whens.join(' ')} end`
  return {
    statements: [
      `update ${tables.inbox} set outcome = 'd', done_at = utc_timestamp(6)${result} where ${hasKey(scope, keys)} and outcome = 'c'`,
      ...forgetAttempts(tables, scope, keys).statements,
    ],
  }
}

export interface Writing {
  readonly scope: number
  readonly items: readonly (StoredKey & { readonly attempt?: number })[]
  readonly owner: string
  readonly outcome: 'd' | 'g' | 'p'
  readonly reason: string | null
  readonly result: string | null
  readonly cause?: string | undefined
}

/**
 * Writes records instead of a transaction, committed by itself, and removes their attempts: a record that is reopened
 * has all of them. Waits for a transaction that holds a key (1205: another owner has it). An existing record is kept:
 * its owner token shows whether this call wrote it before, or another owner did. A torn record of the same owner
 * becomes parked. Returns all records, flushed.
 */
export function writeRecords(tables: Tables, writing: Writing): Script<InboxRow> {
  const { scope, items, owner, ...kept } = writing
  const rows = items.map((item) => rowOf({ scope, owner, ...kept, ...item }))
  const keys = items.map(({ key }) => key)
  const isTorn = `outcome = 'c' and owner = values(owner)`
  return {
    statements: [
      `insert into ${tables.inbox} ${INTO} values ${rows.join(', ')}
on duplicate key update reason = if(${isTorn}, values(reason), reason), attempt = if(${isTorn}, values(attempt), attempt),
cause = if(${isTorn}, values(cause), cause), outcome = if(${isTorn}, 'p', outcome)`,
      `delete a from ${tables.attempt} as a join ${tables.inbox} as i on i.scope = a.scope and i.\`key\` = a.\`key\`
where a.scope = ${scope} and a.\`key\` in (${keys.map(bytes).join(', ')}) and i.owner = ${ascii(owner)}`,
      ...readFlushed(tables, scope, keys).statements,
    ],
  }
}
