import { IS_OWNED_BY, isAmong, KEYS_OF_OWNERS, lockedRows, START_DURABLY, valuesOf, type LeaseKeys } from './parts.ts'
import type { Statement } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'

export interface LeaseAside extends LeaseKeys {
  readonly owners: readonly string[]
  readonly as: 'given-up' | 'parked'
  readonly reason: string
  readonly refund: boolean
  readonly cause: string | undefined
}

export interface AsideRow {
  readonly key: string
  readonly verdict: 'given-up' | 'parked' | 'refused'
}

/**
 * Writes that claims are given up or parked; locks their rows. On a record in doubt an effect may have happened, so
 * `given-up` becomes `parked`, which is kept until a person decides. A key that is not returned has no record: refused.
 */
export function setLeasesAside(tables: Tables, aside: LeaseAside): Statement<AsideRow> {
  return {
    text: `with ${START_DURABLY},
held as materialized (
  select l.key, ${IS_OWNED_BY('x.owner')} and not l.is_over as is_owned,
    case
      when l.is_over or l.owner <> x.owner then 'refused'
      when l.state = 'P' then case when l.doubt then 'parked' else $5::text end
      when l.state = 'G' then 'given-up'
      when l.state = 'X' then 'parked'
      else 'refused'
    end as verdict
  ${lockedRows(tables, { asked: KEYS_OF_OWNERS, columns: 'x.owner' })}
),
written as (
  update ${tables.lease} l set rest = $6::text, attempts = l.attempts - $7::boolean::int, since = start.now, cause = $8::text,
    state = case held.verdict when 'parked' then 'X'::"char" else 'G' end,
    keep_until = case held.verdict when 'parked' then 'infinity' else l.keep_until end
  from held, start where ${isAmong('held')} and held.is_owned
)
select encode(key, 'hex') as key, verdict from held`,
    values: valuesOf(aside, aside.owners, aside.as, aside.reason, aside.refund, aside.cause ?? null),
  }
}
