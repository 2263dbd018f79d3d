import { isOneOf, text } from '../../statements/literals.ts'
import type { Script } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'

export interface CountedStreamRow {
  readonly stream: string
}

interface CountedStream {
  readonly stream: string
  readonly next: bigint
  readonly attempts: { readonly offset: bigint; readonly count: number; readonly until: bigint }
}

/**
 * Counts an attempt for the granted items of each stream, committed before the handler starts, so that a message that
 * kills the process is found. Inserts the row of a new stream. The caller must hold the streams, so that nobody else
 * counts them. A stream is not returned if its row was moved, or was held by a person, since it was read.
 */
export function countStarts(
  { position }: Tables,
  { scope, token, streams }: { scope: number; token: string; streams: readonly CountedStream[] },
): Script<CountedStreamRow> {
  const rows = streams.map(
    ({ stream, next, attempts: { offset, count, until } }) =>
      `(${scope}, ${text(stream)}, ${next}, ${offset}, ${until}, ${count}, ${text(token)})`,
  )
  return {
    text: `insert into ${position} as p (scope, stream, next_offset, attempt_offset, attempt_until, attempts, attempt_owner)
values ${rows.join(', ')}
on conflict (scope, stream) do update set attempt_offset = excluded.attempt_offset,
  attempt_until = excluded.attempt_until, attempts = excluded.attempts, attempt_owner = excluded.attempt_owner
  where p.next_offset = excluded.next_offset and p.outcome is null and p.held is null
returning stream`,
  }
}

interface ShortStream {
  readonly stream: string
  /** The last message that began. */
  readonly until: bigint
}

/** As `shortenStarts` in core. Locks the rows. Finds none that were counted again by a later claim. */
export function shortenStarts(
  { position }: Tables,
  {
    scope,
    token,
    streams,
  }: { readonly scope: number; readonly token: string; readonly streams: readonly ShortStream[] },
): Script {
  const rows = streams.map(({ stream, until }) => `(${text(stream)}, ${until}::bigint)`)
  return {
    text: `update ${position} p set attempt_until = s.until from (values ${rows.join(', ')}) as s (stream, until)
where p.scope = ${scope} and p.stream = s.stream and p.attempt_owner = ${text(token)} and p.attempt_until > s.until`,
  }
}

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
