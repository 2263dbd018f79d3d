import type { Statement } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'
import { DURABLY } from '../../statements/transaction.ts'

interface Passing {
  readonly scope: number
  readonly stream: string
  readonly offset: bigint
  readonly follows?: bigint | undefined
  readonly timestamp?: number | undefined
}

/**
 * Moves a stream past a message that was set aside or torn, committed by itself. Changes nothing if the stream is not
 * at that message. Before a torn message there may be a gap.
 */
export function passOffset({ position, begun }: Tables, passing: Passing): Statement {
  const { scope, stream, offset, follows = offset, timestamp } = passing
  return {
    text: `with limits as materialized (select ${DURABLY}),
passed as (
  update ${position} p set next_offset = $3::bigint + 1, outcome = null, reason = null, updated_at = now(),
    last_offset = $3, last_timestamp = $4
  from limits where p.scope = $1 and p.stream = $2 and case when p.outcome is not null then p.next_offset = $3
    else p.next_offset between $5 and $3
      and exists (select 1 from ${begun} b where b.scope = $1 and b.stream = $2 and b.last_offset >= $3) end
  returning p.scope, p.stream
)
delete from ${begun} b using passed where b.scope = passed.scope and b.stream = passed.stream and b.last_offset <= $3`,
    values: [scope, stream, offset.toString(), timestamp ?? null, follows.toString()],
  }
}
