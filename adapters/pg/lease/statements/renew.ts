import {
  IS_OVER,
  isAmong,
  KEYS_OF_OWNERS,
  IS_OWNED_BY,
  lockedRows,
  MILLISECOND,
  START_QUICKLY,
  valuesOf,
  type LeaseKeys,
} from './parts.ts'
import type { Statement } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'

export interface LeaseRenewal extends LeaseKeys {
  readonly owners: readonly string[]
  readonly leaseMs: number
}

export interface RenewedRow {
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
