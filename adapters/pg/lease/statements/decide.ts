import type { AuditedLeases, LeaseValues } from '../../../sql/lease/statements.ts'
import { isAmong } from '../../statements/literals.ts'
import type { Script, Statement } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'
import { COLUMNS, START, type SeenRow } from './look.ts'
import { MILLISECOND } from './parts.ts'

/**
 * Locks rows until the transaction ends, in the order of keys, and reads them. Waits for a transaction that has locked
 * one (55P03 after `lock_timeout`). The second statement sees what the first one waited for. At least one row.
 */
export function lockLeases({ lease }: Tables, scope: number, keys: readonly string[]): Script<SeenRow> {
  const where = `l.scope = ${scope} and l.key ${isAmong(keys)}`
  return {
    text: `select from ${lease} l where ${where} order by l.key for update;
${START}
select ${COLUMNS} from start left join ${lease} l on ${where}`,
  }
}

/** Fails with 23505 if somebody has inserted one of the keys since they were read: then nothing may be committed. */
export function writeFresh({ lease }: Tables, scope: number, records: readonly LeaseValues[]): Statement {
  return {
    text: `insert into ${lease} (scope, key, ${NAMES.join(', ')}) select $1::smallint, x.key, ${columnsOf('x')} from ${ASKED}`,
    values: valuesOf(scope, records),
  }
}

/** Overwrites rows that this transaction has locked. */
export function writeKept({ lease }: Tables, scope: number, records: readonly LeaseValues[]): Statement {
  return {
    text: `update ${lease} l set (${NAMES.join(', ')}) = row(${columnsOf('x')}) from ${ASKED}
where l.scope = $1 and l.key = x.key and l.key = any (array(select decode(k, 'hex') from unnest($2::text[]) as k))`,
    values: valuesOf(scope, records),
  }
}

/** Logs a decision with the previous records. */
export function writeAudit({ audit }: Tables, scope: number, audited: AuditedLeases): Statement {
  const { decision, by, reason, decided } = audited
  return {
    text: `insert into ${audit} (scope, key, decision, by_whom, reason, before)
select $1::smallint, decode(x.key, 'hex'), $2, $3, $4, x.before::json from unnest($5::text[], $6::text[]) as x (key, before)`,
    values: [
      scope,
      decision,
      by,
      reason,
      decided.map(({ key }) => key),
      decided.map(({ before }) => JSON.stringify(before)),
    ],
  }
}

const NAMES = [
  'fp',
  'owner',
  'state',
  'doubt',
  'fence',
  'attempts',
  'lease_until',
  'keep_until',
  'rest',
  'not_before',
  'since',
  'cause',
] as const

const TYPES = ['text', 'text', 'text', 'boolean', 'int', 'int', 'float8', 'float8', 'text', 'float8', 'float8', 'text']

const ASKED = `(select decode(key, 'hex') as key, ${NAMES.join(', ')}
  from unnest($2::text[], ${TYPES.map((type, at) => `$${at + 3}::${type}[]`).join(', ')}) as x (key, ${NAMES.join(', ')}) order by 1) as x`

/** A row without a lease or a digest has no `null` there. */
function columnsOf(x: string): string {
  const time = (name: string): string => `timestamptz 'epoch' + ${x}.${name} * ${MILLISECOND}`
  const of: { readonly [N in (typeof NAMES)[number]]?: string } = {
    fp: `decode(coalesce(${x}.fp, ''), 'hex')`,
    state: `${x}.state::"char"`,
    lease_until: `coalesce(${time('lease_until')}, now())`,
    keep_until: `coalesce(${time('keep_until')}, 'infinity')`,
    rest: `coalesce(${x}.rest, '')`,
    not_before: time('not_before'),
    since: time('since'),
  }
  return NAMES.map((name) => of[name] ?? `${x}.${name}`).join(', ')
}

function valuesOf(scope: number, records: readonly LeaseValues[]): readonly unknown[] {
  const column = (value: (record: LeaseValues) => unknown): unknown[] => records.map((record) => value(record) ?? null)
  return [
    scope,
    column(({ key }) => key),
    column(({ fp }) => fp),
    column(({ owner }) => owner),
    column(({ state }) => state),
    column(({ doubt = false }) => doubt),
    column(({ fence }) => fence),
    column(({ attempt }) => attempt),
    column(({ leaseUntil }) => leaseUntil),
    column(({ keepUntil }) => keepUntil),
    column(({ rest }) => rest),
    column(({ notBefore }) => notBefore),
    column(({ since }) => since),
    column(({ cause }) => cause),
  ]
}
