import { text } from '../../statements/literals.ts'
import type { Script, Statement } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'
import { DURABLY } from '../../statements/transaction.ts'
import { lockOf } from './streams.ts'

export interface Move {
  readonly stream: string
  /** The position when it was claimed. */
  readonly from: bigint
  readonly to: bigint
  /** Timestamp of the message right before `to`. */
  readonly timestamp?: number | undefined
}

const TAKEN_OVER = 'consume-once: moved by another hand'

/**
 * The mark: moves each stream from its claimed position, in the transaction of the effects and in the message of its
 * COMMIT. Locks the rows. Fails, so that nothing is committed, if a stream is no longer at that position: a person has
 * moved it, it is held, or the database is another one.
 */
export function movePositions({ position }: Tables, scope: number, token: string, moves: readonly Move[]): Script {
  const set = `outcome = null, reason = null, moved_by = ${text(token)}, updated_at = now()`
  const [only, ...others] = moves
  // mutant: pg-offsets-unlocked 2, pg-position-moved-blindly
  const update =
    only !== undefined && others.length === 0
      ? `update ${position} p set next_offset = ${only.to}, last_offset = ${only.to} - 1,
    last_timestamp = ${only.timestamp ?? 'null'}, ${set}
  where p.scope = ${scope} and p.stream = ${text(only.stream)} and p.next_offset = ${only.from} and p.held is null`
      : `update ${position} p set next_offset = m.after, last_offset = m.after - 1, last_timestamp = m.timestamp, ${set}
  from (values ${moves.map(valuesOf).join(', ')}) as m (stream, before, after, timestamp)
  where p.scope = ${scope} and p.stream = m.stream and p.next_offset = m.before and p.held is null`
  return {
    text: `with moved as (
  ${update}
  returning 1
)
select case when count(*) = ${moves.length} then 0 else ('${TAKEN_OVER}, ' || count(*))::int end from moved`,
  }
}

function valuesOf({ stream, from, to, timestamp }: Move): string {
  return `(${text(stream)}, ${from}::bigint, ${to}::bigint, ${timestamp ?? 'null'}::bigint)`
}

/** The server quotes this text in its error, because it is not a number. */
export function hasNotMoved(error: unknown): boolean {
  return error instanceof Error && error.message.includes(TAKEN_OVER)
}

export interface OffsetAsideRow {
  readonly outcome: 'g' | 'p'
}

interface OffsetAside {
  readonly scope: number
  readonly stream: string
  /** The position when it was claimed: the offsets in between are over, or gaps. */
  readonly from: bigint
  readonly offset: bigint
  readonly outcome: 'g' | 'p'
  readonly reason: string
  readonly owner: string
  readonly lockTimeoutMs: number
}

/**
 * Writes that the message is set aside, committed by itself, and removes its attempts: if it is reopened, it has all of
 * them. A message that a handler has committed itself is parked in any case, because it may have had an effect. Waits
 * for a transaction that holds the stream (55P03 after `lock_timeout`: another owner has it). No row: another owner has
 * moved it, or this call was sent before.
 */
export function setOffsetAside({ schema, position, begun }: Tables, aside: OffsetAside): Statement<OffsetAsideRow> {
  const { scope, stream, from, offset, outcome, reason, owner, lockTimeoutMs } = aside
  return {
    text: `with limits as materialized (select ${DURABLY}, set_config('lock_timeout', $8, true) as limit),
held as materialized (select pg_advisory_xact_lock(${lockOf(schema, scope, '$2::text')}) from limits)
update ${position} p
set next_offset = $4, outcome = case when t.stream is null then $5::"char" else 'p' end, reason = $6, moved_by = $7, updated_at = now(),
  attempts = 0, attempt_owner = null, attempt_offset = $4
from held left join ${begun} t on t.scope = $1 and t.stream = $2 and t.last_offset >= $4
where p.scope = $1 and p.stream = $2 and p.next_offset = $3 and p.outcome is null
returning p.outcome::text as outcome`,
    values: [scope, stream, from.toString(), offset.toString(), outcome, reason, owner, String(lockTimeoutMs)],
  }
}
