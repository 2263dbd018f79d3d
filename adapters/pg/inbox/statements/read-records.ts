import type { RecordRow } from '../../../sql/inbox/statements.ts'
import { epochMs, isAmong } from '../../statements/literals.ts'
import type { Script } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'

/** `t` comes from `tornOf`. */
export const IS_TORN = 't.n is not null' // mutant: pg-torn-row-taken-for-done

export const TORN = 'transaction-torn: a handler ended its transaction by itself (COMMIT)'

/** The columns that are read of an inbox row `i`, with `tornOf`. */
export const RECORD: string = `encode(i.key, 'hex') as key, case when ${IS_TORN} then 'p' else i.outcome::text end as outcome,
  encode(i.fp, 'hex') as fp, i.owner, case when ${IS_TORN} then '${TORN}' else i.reason end as reason, i.result,
  coalesce(i.attempt, t.n) as attempt, coalesce(i.cause, t.cause) as cause,
  case when i.outcome <> 'd' or ${IS_TORN} then ${epochMs('i.done_at')} end as since,
  i.xmin::text as writer`

/**
 * A row exists from its claim on, and the mark removes its attempt in the message of its COMMIT. So a visible row with
 * an attempt was committed by a handler. The handler's earlier writes were committed too, and it is unknown how many:
 * such a row is not done but parked, with its number of attempts. Joined in the same snapshot as the row.
 */
export function tornOf({ attempt }: Tables): string {
  return `left join ${attempt} t on i.outcome = 'd' and t.scope = i.scope and t.key = i.key`
}

export interface ReadRow extends RecordRow {
  /** Some process of the scope commits marks that are flushed later: until then a crash may undo `done`. */
  readonly is_late: boolean
}

/**
 * Locks nothing. Whether marks are flushed late is read in the same snapshot: a reader that sees such a mark also sees
 * this flag, because it was set before the scope's first such mark. It is a separate statement after the insert: one
 * that began before the wait would not see the row that it waited for. A key that is not returned has lost its record
 * since.
 */
export function readRecords(tables: Tables, scope: number, keys: readonly string[]): Script<ReadRow> {
  return {
    text: `select ${RECORD}, (select flush_ticker from ${tables.scope} where id = ${scope}) as is_late
from ${tables.inbox} i ${tornOf(tables)} where i.scope = ${scope} and i.key ${isAmong(keys)}`,
  }
}
