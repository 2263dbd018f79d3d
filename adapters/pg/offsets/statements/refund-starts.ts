import { isOneOf, text } from '../../statements/literals.ts'
import type { Script } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'

interface Refund {
  readonly scope: number
  readonly streams: readonly string[]
  readonly token: string
}

/**
 * Gives the attempts of one claim back, as `refundStarts` in core does. Locks the rows. Finds none that were given back
 * before, or counted again by a later claim.
 */
export function refundStarts({ position }: Tables, { scope, streams, token }: Refund): Script {
  return {
    text: `update ${position} set attempts = attempts - 1, attempt_owner = null,
  attempt_offset = case when attempts > 1 then attempt_offset end,
  attempt_until = case when attempts > 1 then attempt_until end
where scope = ${scope} and stream ${isOneOf(streams)} and attempt_owner = ${text(token)}`,
  }
}
