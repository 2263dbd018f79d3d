import type { AuditedLeases, WrittenLeases } from '../../../sql/lease/statements.ts'
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

/**
 * Replaces rows that this transaction has locked, and inserts new ones. Fails with 23505 if somebody has inserted one of
 * these since they were read: then nothing may be committed.
 */
export function writeLeases(
  { lease }: Tables,
  scope: number,
  { fresh, kept }: WrittenLeases,
): readonly [removal: Statement, insertion: Statement] {
  return [
    {
      text: `delete from ${lease} where scope = $1 and key = any (array(select decode(k, 'hex') from unnest($2::text[]) as k))`,
      values: [scope, kept.map(({ key }) => key)],
    },
    {
      text: `insert into ${lease} (scope, key, fp, owner, state, doubt, fence, attempts, lease_until, keep_until, rest, not_before, since, cause)
select $1::smallint, decode(key, 'hex'), decode(coalesce(fp, ''), 'hex'), owner, state::"char", doubt, fence, attempt,
  coalesce(${at('lease_until')}, now()), coalesce(${at('keep_until')}, 'infinity'), coalesce(rest, ''), ${at('not_before')}, ${at('since')}, cause
from json_to_recordset($2::json) as x (key text, fp text, owner text, state text, doubt boolean, fence int, attempt int,
  lease_until float8, keep_until float8, rest text, not_before float8, since float8, cause text)
order by 2`,
      values: [scope, JSON.stringify([...fresh, ...kept])],
    },
  ]
}

function at(column: string): string {
  return `timestamptz 'epoch' + ${column} * ${MILLISECOND}`
}

/** Logs a decision with the previous records. */
export function writeAudit(
  { audit }: Tables,
  scope: number,
  { decision, by, reason, decided }: AuditedLeases,
): Statement {
  return {
    text: `insert into ${audit} (scope, key, decision, by_whom, reason, before)
select $1::smallint, decode(key, 'hex'), $2, $3, $4, before from json_to_recordset($5::json) as x (key text, before json)`,
    values: [scope, decision, by, reason, JSON.stringify(decided)],
  }
}
