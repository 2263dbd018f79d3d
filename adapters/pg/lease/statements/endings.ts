import {
  IS_OVER,
  IS_OWNED_BY,
  isAmong,
  KEYS_OF_OWNERS,
  lockedRows,
  MILLISECOND,
  START_DURABLY,
  START_QUICKLY,
  valuesOf,
  type LeaseKeys,
} from './parts.ts'
import type { Statement } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'

interface OwnedKeys extends LeaseKeys {
  /** $4: in the order of the keys. */
  readonly owners: readonly string[]
}

interface LeaseRenewal extends OwnedKeys {
  readonly leaseMs: number
}

interface RenewedRow {
  readonly key: string
}

/**
 * Renews leases; locks their rows. A key that is not returned is not, or no longer, the owner's. If a crash of the
 * server loses the renewal, the lease ends at its previous time, and by then its keeper has renewed it once more.
 */
export function renewLeases(tables: Tables, renewal: LeaseRenewal): Statement<RenewedRow> {
  const which = `${IS_OWNED_BY('x.owner')} and not ${IS_OVER}` // mutant: pg-renewal-by-anyone
  return {
    text: `with ${START_QUICKLY},
held as materialized (select l.key ${lockedRows(tables, { asked: KEYS_OF_OWNERS, columns: 'x.owner', which })})
update ${tables.lease} l set lease_until = start.now + $5::float8 * ${MILLISECOND}
from held, start where ${isAmong('held')}
returning encode(l.key, 'hex') as key`,
    values: valuesOf(renewal, renewal.owners, renewal.leaseMs),
  }
}

interface LeaseRelease extends OwnedKeys {
  readonly refund: boolean
  readonly doubt: boolean
  /** 0: no backoff. */
  readonly delayMs: number
  readonly cause: string | undefined
}

interface ReleaseRow {
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

interface LeaseAside extends OwnedKeys {
  readonly as: 'given-up' | 'parked'
  readonly reason: string
  readonly refund: boolean
  readonly cause: string | undefined
}

interface AsideRow {
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
