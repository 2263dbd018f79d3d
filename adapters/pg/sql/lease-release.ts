import { IS_OVER, IS_OWNED_BY, lockedRows, START_QUICKLY, valuesOf, type LeaseKeys } from './lease-parts.ts'
import type { Statement } from './statement.ts'
import type { Tables } from './tables.ts'

export interface LeaseRelease extends LeaseKeys {
  readonly owners: readonly string[]
  readonly refund: boolean
  readonly doubt: boolean
}

export interface ReleaseRow {
  readonly key: string
  readonly verdict: 'released' | 'already-released' | 'refused'
}

/**
 * Gives claims back; locks their rows. Fence, attempts and doubt stay until retention ends. A key that is not returned has no
 * record: refused. A crash of the server may forget it: the lease then ends by itself, in doubt.
 */
export function releaseLeases(tables: Tables, release: LeaseRelease): Statement<ReleaseRow> {
  const asked = 'unnest($3::text[], $4::text[]) as x (key, owner)'
  return {
    text: `with ${START_QUICKLY},
held as materialized (
  select l.key,
    case
      when ${IS_OVER} then 'refused'
      when ${IS_OWNED_BY('x.owner')} then 'released'
      when l.state = 'R' and l.owner = x.owner then 'already-released'
      else 'refused'
    end as verdict
  ${lockedRows(tables, asked)}
),
released as (
  update ${tables.lease} l set state = 'R', attempts = l.attempts - $5::boolean::int, doubt = l.doubt or $6::boolean
  from held where l.scope = $1 and l.key = held.key and held.verdict = 'released'
)
select encode(key, 'hex') as key, verdict from held`,
    values: valuesOf(release, release.owners, release.refund, release.doubt),
  }
}
