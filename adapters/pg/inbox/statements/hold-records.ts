import { claimKeys } from './claim-keys.ts'
import { isAmong } from '../../statements/literals.ts'
import type { HeldRow } from '../../../sql/inbox/statements.ts'
import { RECORD, tornOf } from './read-records.ts'
import type { Script } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'

/**
 * Holds keys until the transaction ends, with or without a record, and reads them. Waits for an open transaction that
 * has inserted, changed or deleted one of them (55P03 after `lock_timeout`), so that no running claim is missed. A key
 * that is not returned has lost its record between the two statements.
 */
export function holdRecords(tables: Tables, scope: number, keys: readonly string[]): Script<HeldRow> {
  const items = keys.map((key) => ({ key, fp: null }))
  return {
    // mutant: pg-decision-past-a-claim
    text: `${claimKeys(tables, scope, items).text};
select ${RECORD}, i.xmin = pg_current_xact_id()::xid as is_new
from ${tables.inbox} i ${tornOf(tables)} where i.scope = ${scope} and i.key ${isAmong(keys)} order by i.key for update of i`,
  }
}
