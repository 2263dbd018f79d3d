import { lockOf } from './hold-streams.ts'
import type { Statement } from './statement.ts'
import type { Tables } from './tables.ts'
import { DURABLY } from './transaction.ts'

export interface OffsetAsideRow {
  readonly stream: string
}

interface OffsetAside {
  readonly scope: number
  readonly stream: string
  /** Where the claim has found it: what is between is over, or a gap. */
  readonly from: bigint
  readonly offset: bigint
  readonly outcome: 'g' | 'p'
  readonly reason: string
  readonly owner: string
  readonly lockTimeoutMs: number
}

/**
 * Writes that the message is set aside, committed by itself, and forgets its attempts: if it is ever opened again it has all
 * of them. Waits for a transaction that holds the stream (55P03 after `lock_timeout`: another owner has it). No row: another
 * owner has moved it, or this very call was sent before.
 */
export function setOffsetAside({ schema, position }: Tables, aside: OffsetAside): Statement<OffsetAsideRow> {
  const { scope, stream, from, offset, outcome, reason, owner, lockTimeoutMs } = aside
  return {
    text: `with limits as materialized (select ${DURABLY}, set_config('lock_timeout', $8, true) as limit),
held as materialized (select pg_advisory_xact_lock(${lockOf(schema, scope, '$2::text')}) from limits)
update ${position} p
set next_offset = $4, outcome = $5::"char", reason = $6, moved_by = $7, updated_at = now(),
  attempts = 0, attempt_owner = null, attempt_offset = $4
from held where p.scope = $1 and p.stream = $2 and p.next_offset = $3 and p.outcome is null
returning p.stream`,
    values: [scope, stream, from.toString(), offset.toString(), outcome, reason, owner, String(lockTimeoutMs)],
  }
}
