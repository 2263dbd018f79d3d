import type { OwnerToken } from '../../../../src/internal.ts'
import type { StoredKey } from '../../../sql/bytes.ts'
import type { HeldRow, RecordRow, Writing } from '../../../sql/inbox/statements.ts'
import { somethingToFlush } from '../../statements/flush.ts'
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
import { isUpTo } from '../../statements/look-ahead.ts'
import type { Script } from '../../statements/script.ts'
import type { Tables } from '../../statements/tables.ts'

/** In hex, except for the outcome: `c` is claimed; otherwise as `RecordRow.outcome`. */
interface InboxRow {
  readonly k: string
  readonly fp: string | null
  readonly owner: OwnerToken
  readonly outcome: string
  readonly reason: string | null
  readonly result: string | null
  readonly attempt: number | null
  readonly since_ms: number | string
  readonly cause: string | null
}

const COLUMNS = `${inHex('`key`')} as k, ${inHex('fp')} as fp, ${inHex('owner')} as owner, outcome, hex(reason) as reason, hex(result) as result,
  attempt, ${epochMs('done_at')} as since_ms, hex(cause) as cause`

/**
 * A visible claimed row was committed without a mark: a handler has ended the transaction itself, as DDL does in MySQL.
 * The handler's earlier writes were committed too, and it is unknown how many.
 */
const TORN = 'transaction-torn: a handler committed its transaction by itself (DDL, LOCK TABLES, COMMIT)'

function recordOf({ k: key, outcome, reason, result, attempt, since_ms: since, ...row }: InboxRow): RecordRow {
  const owner = fromHex(row.owner)
  const isTorn = outcome === 'c'
  return {
    key,
    outcome: isTorn ? 'p' : outcome,
    fp: row.fp,
    owner,
    reason: isTorn ? TORN : textOf(reason),
    result: textOf(result),
    attempt,
    since: Number(since),
    cause: textOf(row.cause),
    writer: owner,
  }
}

function textOf(hex: string | null): string | null {
  return hex === null ? null : fromHex(hex)
}

/** Sees committed rows and those of its own transaction; locks nothing. A key that is not returned has no record. */
export function readInbox({ inbox }: Tables, scope: number, keys: readonly string[]): Script<RecordRow> {
  return { statements: [`select ${COLUMNS} from ${inbox} where ${hasKey(scope, keys)}`], read: recordOf }
}

/** As `readInbox`, for records that lead to a settle: no crash of the server undoes a result. */
export function readFlushed(tables: Tables, scope: number, keys: readonly string[]): Script<RecordRow> {
  const { statements, read } = readInbox(tables, scope, keys)
  return { statements: [...somethingToFlush(tables, scope), ...statements], ...(read && { read }) }
}

/** Fails with 1205 if a transaction holds the key. Does not wait; on MySQL, whose minimum is 1, it waits a second. */
export function glanceAt(tables: Tables, scope: number, key: string): Script {
  return {
    statements: [
      'set session innodb_lock_wait_timeout = 0',
      `select 1 from ${tables.inbox} ${byKey(tables, 'inbox')} where ${hasKey(scope, [key])} for update`,
    ],
  }
}

export interface InboxPage {
  readonly scope: number
  readonly outcome: 'd' | 'g' | 'p'
  /** In hex, or empty. */
  readonly after: string
  /** In hex. */
  readonly upTo: string | undefined
  readonly limit: number
}

/** Locks nothing; in the order of keys. */
export function listInbox({ inbox }: Tables, { scope, outcome, after, upTo, limit }: InboxPage): Script<RecordRow> {
  const wanted = outcome === 'p' ? `'p', 'c'` : `'${outcome}'`
  const where = `scope = ${scope} and \`key\` > ${bytes(after)} and ${isUpTo(upTo)} and outcome in (${wanted})`
  return {
    statements: [`select ${COLUMNS} from ${inbox} where ${where} order by \`key\` limit ${limit}`],
    read: recordOf,
  }
}

/**
 * Inserts a row for each key and locks it until the transaction ends, in the order of keys. Waits for another open
 * transaction that has inserted the same key (1205 after the lock wait): if that rolls back the row is ours, if it
 * commits the row is not ours, and is unchanged. Not `insert ignore`, which hides other errors too, and not a plain
 * insert, whose waiters take shared locks and deadlock when the owner rolls back (1213). The second statement sees rows
 * that the first one waited for.
 */
export function claimKeys(tables: Tables, claim: Claim): Script<{ readonly k: string }> {
  const keys = claim.items.map(({ key }) => key)
  return {
    statements: [
      insertKeys(tables, claim),
      // mutant: mysql-insert-taken-for-granted
      `select ${inHex('`key`')} as k from ${tables.inbox} where ${hasKey(claim.scope, keys)} and ${isInsertedBy(claim.owner)}`,
    ],
  }
}

interface Claim {
  readonly scope: number
  /** In order. */
  readonly items: readonly StoredKey[]
  readonly owner: string
}

export function insertKeys({ inbox }: Tables, { scope, items, owner }: Claim): string {
  const rows = items.map(({ key, fp }) => rowOf({ scope, key, fp, owner, outcome: 'c' }))
  return `insert into ${inbox} ${INTO} values ${rows.join(', ')} on duplicate key update scope = scope`
}

function isInsertedBy(owner: string): string {
  return `outcome = 'c' and owner = ${ascii(owner)}`
}

/** As `claimKeys`, for a decision about keys with or without a record. */
export function holdKeys(tables: Tables, claim: Claim): Script<HeldRow> {
  const keys = claim.items.map(({ key }) => key)
  return {
    statements: [insertKeys(tables, claim), ...readInbox(tables, claim.scope, keys).statements],
    read: (row: InboxRow) => {
      return { ...recordOf(row), is_new: row.outcome === 'c' && fromHex(row.owner) === claim.owner }
    },
  }
}

interface NewRow extends StoredKey {
  readonly scope: number
  readonly owner: OwnerToken
  readonly outcome: string
  readonly reason?: string | null
  readonly result?: string | null
  readonly attempt?: number | null
  readonly cause?: string | null
  /** `undefined`: it gets its end with the mark, or is not to stay. */
  readonly keepMs?: number
}

const INTO = '(scope, `key`, fp, owner, outcome, done_at, keep_until, reason, result, attempt, cause)'

function rowOf({ scope, key, fp, owner, outcome, reason, result, attempt, cause, keepMs }: NewRow): string {
  const until = keepMs === undefined ? 'null' : fromNow(keepMs)
  const kept = `${until}, ${text(reason)}, ${text(result)}, ${attempt ?? 'null'}, ${text(cause)}`
  return `(${scope}, ${bytes(key)}, ${bytes(fp)}, ${ascii(owner)}, '${outcome}', utc_timestamp(6), ${kept})`
}

/** Removes rows that this transaction has inserted. Nobody else sees them, so it waits for nothing. */
export function removeKeys(tables: Tables, scope: number, keys: readonly string[]): Script {
  return { statements: [deleteKeys(tables, 'inbox', scope, keys)] }
}

/** As `removeKeys`, but only the rows that this transaction has inserted: the others are records. */
export function removeInserted(tables: Tables, scope: number, keys: readonly string[], owner: string): Script {
  return { statements: [deleteKeys(tables, 'inbox', scope, keys, isInsertedBy(owner))] }
}

/** Turns locked rows into done ones, whose retention begins now. */
export function makeDone(tables: Tables, scope: number, keys: readonly string[], keepMs: number): Script {
  const done = `outcome = 'd', reason = null, result = null, attempt = null, cause = null, done_at = utc_timestamp(6),
  keep_until = ${fromNow(keepMs)}`
  return { statements: [updateKeys(tables, 'inbox', done, scope, keys)] }
}

interface Marking {
  readonly scope: number
  readonly keys: readonly string[]
  readonly results: ReadonlyMap<string, string>
  readonly keepMs: number
}

/** The mark: turns the claimed rows of this transaction into done ones, with their results by key. Waits for nothing. */
export function markKeys(tables: Tables, { scope, keys, results, keepMs }: Marking): Script {
  const whens = [...results].map(([key, result]) => `when ${bytes(key)} then ${text(result)}`)
  const result = whens.length === 0 ? '' : `, result = case \`key\` ${whens.join(' ')} end`
  const done = `outcome = 'd', done_at = utc_timestamp(6), keep_until = ${fromNow(keepMs)}${result}`
  return {
    statements: [updateKeys(tables, 'inbox', done, scope, keys, "outcome = 'c'")],
  }
}

/**
 * Writes records instead of a transaction, committed by itself, and removes their attempts: a record that is reopened
 * has all of them. Waits for a transaction that holds a key (1205: another owner has it). An existing record is kept:
 * a torn record of the same owner becomes parked. Returns the records of this owner, flushed.
 */
export function writeRecords(
  tables: Tables,
  scope: number,
  { items, owner, outcome, reason, result, cause, keepMs }: Writing,
): Script<Pick<RecordRow, 'key' | 'outcome'>> {
  const rows = items.map((item) => rowOf({ scope, owner, outcome, reason, result, cause, keepMs, ...item }))
  const keys = items.map(({ key }) => key)
  const isTorn = `outcome = 'c' and owner = values(owner)`
  return {
    statements: [
      `insert into ${tables.inbox} ${INTO} values ${rows.join(', ')}
on duplicate key update reason = if(${isTorn}, values(reason), reason), attempt = if(${isTorn}, values(attempt), attempt),
cause = if(${isTorn}, values(cause), cause), outcome = if(${isTorn}, 'p', outcome)`,
      deleteKeys(
        tables,
        'attempt',
        scope,
        keys,
        // Without the keys all records of the owner may be looked for first.
        `exists (select 1 from ${tables.inbox} as i ${byKey(tables, 'inbox')}
where ${hasKey(scope, keys)} and i.\`key\` = gone.\`key\` and i.owner = ${ascii(owner)})`,
      ),
      ...somethingToFlush(tables, scope),
      `select ${inHex('`key`')} as \`key\`, outcome from ${tables.inbox} where ${hasKey(scope, keys)} and owner = ${ascii(owner)}`,
    ],
  }
}
