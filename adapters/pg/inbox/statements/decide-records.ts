import type { Decision } from '../../../../src/spi.ts'
import type { Statement } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'

interface Deciding {
  readonly scope: number
  readonly keys: readonly string[]
  readonly decision: Decision
  readonly by: string
  readonly reason: string
}

/** Logs a decision with the previous rows. Must run before the rows are changed. Locks nothing. */
export function auditDecision({ audit, inbox }: Tables, { scope, keys, decision, by, reason }: Deciding): Statement {
  return {
    text: `insert into ${audit} (scope, key, decision, by_whom, reason, before)
select i.scope, i.key, $3, $4, $5, row_to_json(i) from ${inbox} i
where i.scope = $1 and i.key = any (array(select decode(x, 'hex') from unnest($2::text[]) as x))`,
    values: [scope, keys, decision, by, reason],
  }
}

/** Turns locked rows into done ones, whose retention begins now. It finds all of them. */
export function makeDone({ inbox }: Tables, scope: number, keys: readonly string[]): Statement {
  return {
    text: `update ${inbox} set outcome = 'd', reason = null, result = null, attempt = null, cause = null, done_at = now()
where scope = $1 and key = any (array(select decode(x, 'hex') from unnest($2::text[]) as x))`,
    values: [scope, keys],
  }
}
