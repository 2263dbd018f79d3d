import { epochMs, isAmong } from './literals.ts'
import type { Script } from './statement.ts'
import type { Tables } from './tables.ts'

export interface RecordRow {
  readonly key: string
  /** `d`: done; `g`: given up; `p`: parked. Nobody can say what another one is. */
  readonly outcome: string
  readonly fp: string | null
  readonly owner: string | null
  readonly reason: string | null
  readonly result: string | null
  /** Of what is not done, and so below: starts of its handler; `null`: written by a version that did not keep it. */
  readonly attempt: number | null
  /** Milliseconds since 1970. */
  readonly since: number | null
  readonly cause: string | null
  readonly transaction: string
}

/** `t` is of `tornOf`. */
export const IS_TORN = 't.n is not null'

const TORN = 'transaction-torn: a handler ended its transaction by itself (COMMIT)'

/** What is read of a row `i` of the inbox, beside `tornOf`. */
export const RECORD: string = `encode(i.key, 'hex') as key, case when ${IS_TORN} then 'p' else i.outcome::text end as outcome,
  encode(i.fp, 'hex') as fp, i.owner, case when ${IS_TORN} then '${TORN}' else i.reason end as reason, i.result,
  coalesce(i.attempt, t.n) as attempt, coalesce(i.cause, t.cause) as cause,
  case when i.outcome <> 'd' or ${IS_TORN} then ${epochMs('i.done_at')} end as since,
  i.xmin::text as transaction`

/**
 * A row is there as soon as it is claimed, and the mark removes its attempt in the message of its COMMIT. So a row with an
 * attempt, seen from outside, was committed by somebody else: a handler. What it had written until then is committed too, and nobody
 * knows how much that is: such a row is not done but parked, after so many attempts. Joined in the same snapshot as the row.
 */
export function tornOf({ attempt }: Tables): string {
  return `left join ${attempt} t on i.outcome = 'd' and t.scope = i.scope and t.key = i.key`
}

export interface ReadRow extends RecordRow {
  /** Some process of the scope commits marks that are flushed later: what is done may be lost until then. */
  readonly is_late: boolean
}

/**
 * Locks nothing. Whether marks are flushed late is read in the same snapshot: who sees such a mark sees that, since the scope
 * was told before its first. A statement of its own after the insert: one that began before the wait would not see the row that was
 * waited for. A key that is not returned has lost its record since.
 */
export function readRecords(tables: Tables, scope: number, keys: readonly string[]): Script<ReadRow> {
  return {
    text: `select ${RECORD}, (select flush_ticker from ${tables.scope} where id = ${scope}) as is_late
from ${tables.inbox} i ${tornOf(tables)} where i.scope = ${scope} and i.key ${isAmong(keys)}`,
  }
}
