import { lockOf } from './hold-streams.ts'
import type { Statement } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'
import { DURABLY } from '../../statements/transaction.ts'

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
