import {
  IS_OWNED_BY,
  isAmong,
  KEYS_OF_OWNERS,
  lockedRows,
  MILLISECOND,
  START_QUICKLY,
  valuesOf,
  type LeaseKeys,
} from './parts.ts'
import type { Statement } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'

export interface LeaseRelease extends LeaseKeys {
  readonly owners: readonly string[]
  readonly refund: boolean
  readonly doubt: boolean
  /** 0: no backoff. */
  readonly delayMs: number
  readonly cause: string | undefined
}

export interface ReleaseRow {
  readonly key: string
  readonly verdict: 'released' | 'already-released' | 'refused'
}

/**
 * Releases claims; locks their rows. Fence, attempts and doubt stay until retention ends. A key that is not returned
 * has no record: refused. If a crash of the server loses the release, the lease ends by itself, in doubt.
 */
export function releaseLeases(tables: Tables, release: LeaseRelease): Statement<ReleaseRow> {
  const { owners, refund, doubt, delayMs, cause } = release
  // mutant: pg-lease-release-by-anyone
  return {
    text: `with ${START_QUICKLY},
held as materialized (
  select l.key,
    case
      when l.is_over then 'refused'
      when ${IS_OWNED_BY('x.owner')} then 'released'
      when l.state = 'R' and l.owner = x.owner then 'already-released'
      else 'refused'
    end as verdict
  ${lockedRows(tables, { asked: KEYS_OF_OWNERS, columns: 'x.owner' })}
),
released as (
  update ${tables.lease} l set state = 'R', attempts = l.attempts - $5::boolean::int, doubt = l.doubt or $6::boolean,
    not_before = case when $7::float8 > 0 then start.now + $7::float8 * ${MILLISECOND} end, cause = $8::text
  from held, start where ${isAmong('held')} and held.verdict = 'released'
)
select encode(key, 'hex') as key, verdict from held`,
    values: valuesOf(release, owners, refund, doubt, delayMs, cause ?? null),
  }
}
