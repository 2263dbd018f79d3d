import { text } from '../../statements/literals.ts'
import type { Script } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'

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
