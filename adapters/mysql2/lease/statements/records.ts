import type { LeaseRow, WrittenLeases } from '../../../sql/lease/statements.ts'
import { byKey, bytes, epochMs, fromHex, hasKey, inHex, NOW_MS, ascii, text, time } from '../../statements/literals.ts'
import { isUpTo } from '../../statements/look-ahead.ts'
import type { Script } from '../../statements/script.ts'
import type { Tables } from '../../statements/tables.ts'

/** In hex, except for state and numbers. Times are milliseconds, or text if the pool returns `bigint` as text. */
export interface KeptRow {
  readonly k: string
  readonly fp: string | null
  readonly owner: string
  readonly state: string
  readonly doubt: number
  readonly fence: number
  readonly attempt: number
  readonly lease_until_ms: number | string | null
  readonly keep_until_ms: number | string | null
  readonly rest: string | null
  readonly not_before_ms: number | string | null
  readonly since_ms: number | string | null
  readonly cause: string | null
}

export interface NowRow {
  readonly now_ms: number | string
}

export function rowOf(row: KeptRow): LeaseRow {
  return {
    key: row.k,
    fp: row.fp,
    owner: fromHex(row.owner),
    state: row.state,
    doubt: row.doubt === 1,
    fence: row.fence,
    attempt: row.attempt,
    lease_until: timeOf(row.lease_until_ms),
    keep_until: timeOf(row.keep_until_ms),
    rest: textOf(row.rest),
    not_before: timeOf(row.not_before_ms),
    since: timeOf(row.since_ms),
    cause: textOf(row.cause),
  }
}

function timeOf(ms: number | string | null): number | null {
  return ms === null ? null : Number(ms)
}

function textOf(hex: string | null): string | null {
  return hex === null ? null : fromHex(hex)
}

const COLUMNS = `${inHex('`key`')} as k, ${inHex('fp')} as fp, ${inHex('owner')} as owner, state, doubt, fence, attempt,
  ${epochMs('lease_until')} as lease_until_ms, ${epochMs('keep_until')} as keep_until_ms, hex(rest) as rest,
  ${epochMs('not_before')} as not_before_ms, ${epochMs('since')} as since_ms, hex(cause) as cause`

/**
 * Two sets: the existing rows, locked until the transaction ends, in the order of keys; and the time after the wait for
 * locks. It uses the index, so that only these rows are locked. Waits for a transaction that has locked one (1205). A
 * missing row is not locked.
 */
export function lockLeases(tables: Tables, scope: number, keys: readonly string[]): Script {
  const where = `where ${hasKey(scope, keys)} order by \`key\` for update` // mutant: mysql-lease-unlocked
  return {
    statements: [
      `select ${COLUMNS} from ${tables.lease} ${byKey(tables, 'lease')} ${where}`,
      `select ${NOW_MS} as now_ms`,
    ],
  }
}

/** Locks nothing. At least one row, without a `k` if there is no record. */
export function readLeases(
  { lease }: Tables,
  scope: number,
  keys: readonly string[],
): Script<NowRow & { [C in keyof KeptRow]: KeptRow[C] | null }> {
  const now = `(select ${NOW_MS} as now_ms) as n`
  return { statements: [`select now_ms, ${COLUMNS} from ${now} left join ${lease} as l on ${hasKey(scope, keys)}`] }
}

const NAMES = `fp, owner, state, doubt, fence, attempt, lease_until, keep_until, rest, not_before, since, cause`.split(
  ', ',
)

/**
 * Inserts new rows, and overwrites rows that this transaction has locked. Fails with 1062 if somebody has inserted one
 * since the read: then nothing may be committed.
 */
export function writeLeases({ lease }: Tables, scope: number, { fresh, kept }: WrittenLeases): readonly string[] {
  const into = `insert into ${lease} (scope, \`key\`, ${NAMES.join(', ')}) values `
  const rows = (values: readonly LeaseRow[]): string => values.map((value) => valuesOf(scope, value)).join(', ')
  const over = NAMES.map((name) => `${name} = values(${name})`).join(', ')
  return [
    ...(fresh.length === 0 ? [] : [into + rows(fresh)]),
    ...(kept.length === 0 ? [] : [`${into + rows(kept)} on duplicate key update ${over}`]),
  ]
}

function valuesOf(scope: number, row: LeaseRow): string {
  const { key, fp, owner, state, doubt, fence, attempt, lease_until: until, keep_until: keep, since, cause } = row
  const lease = `${doubt ? 1 : 0}, ${fence}, ${attempt}, ${time(until)}, ${time(keep)}`
  const story = `${text(row.rest)}, ${time(row.not_before)}, ${time(since)}, ${text(cause)}`
  return `(${scope}, ${bytes(key)}, ${bytes(fp)}, ${ascii(owner)}, '${state}', ${lease}, ${story})`
}

export interface LeasePage {
  readonly scope: number
  readonly state: 'processing' | 'in-doubt' | 'given-up' | 'parked' | 'done'
  /** In hex, or empty. */
  readonly after: string
  /** In hex. */
  readonly upTo: string | undefined
  readonly limit: number
}

const IS_STATE = {
  processing: `state = 'P' and lease_until > utc_timestamp(6)`,
  'in-doubt': `(state = 'P' and lease_until <= utc_timestamp(6) or state = 'R' and doubt = 1)`,
  'given-up': `state = 'G'`,
  parked: `state = 'X'`,
  done: `state = 'D'`,
}

/** Locks nothing; in the order of keys. Scans the records of the scope: the table has only its primary key. */
export function listLeases(
  { lease }: Tables,
  { scope, state, after, upTo, limit }: LeasePage,
): Script<NowRow & KeptRow> {
  const where = `scope = ${scope} and \`key\` > ${bytes(after)} and ${isUpTo(upTo)} and ${IS_STATE[state]}
  and (keep_until is null or keep_until > utc_timestamp(6))`
  return {
    statements: [`select ${NOW_MS} as now_ms, ${COLUMNS} from ${lease} where ${where} order by \`key\` limit ${limit}`],
  }
}
