import type { Statement } from './statement.ts'
import type { Tables } from './tables.ts'
import { DURABLY } from './transaction.ts'

interface Passing {
  readonly scope: number
  readonly stream: string
  readonly offset: bigint
  readonly timestamp?: number | undefined
}

/** Moves a stream behind what was set aside in it, committed by itself. Changes nothing where it does not stand there. */
export function passOffset({ position }: Tables, { scope, stream, offset, timestamp }: Passing): Statement {
  return {
    text: `with limits as materialized (select ${DURABLY})
update ${position} p set next_offset = p.next_offset + 1, outcome = null, reason = null, updated_at = now(),
  last_offset = $3, last_timestamp = $4
from limits where p.scope = $1 and p.stream = $2 and p.next_offset = $3 and p.outcome is not null`,
    values: [scope, stream, offset.toString(), timestamp ?? null],
  }
}
