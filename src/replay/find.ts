import type { Key } from '../core/record.ts'
import type { EpochMs } from '../core/units.ts'
import type { Consumer } from '../consumer/define-consumer.ts'
import { createIdReader } from '../pipeline/intake/identify.ts'
import type { ReplayItem, ReplayReader } from '../ports/replay.ts'
import type { Subscription } from '../ports/subscription.ts'
import { Lookup, type Looked } from './look.ts'
import { ReplayedConsumer } from './place.ts'
import type { Selection } from './plan.ts'

export interface FindOptions {
  /** `kafka:sms.dead-letter`, `rabbitmq:emails.dead-letter`. */
  readonly from: string
  /** Only messages with these keys. @defaultValue all */
  readonly keys?: readonly Key[] | undefined
  readonly selection?: Selection
  /** The most messages to look at. */
  readonly lookAtMost: number
  /** The most messages to find. */
  readonly findAtMost: number
  readonly now: EpochMs
  /** Ends the search: what was found until then is the result. */
  readonly signal: AbortSignal
}

/** A message of a place, as far as a person may see it: no payload, and its ID only with `logIds`. */
export interface FoundMessage extends Pick<ReplayItem, 'part' | 'position' | 'timestamp' | 'deadLetter'> {
  readonly from: string
  /** `undefined`: it has no usable ID. */
  readonly key: Key | undefined
  readonly idempotencyKey: string | undefined
  /** Only with `logIds` of its consumer. */
  readonly id: string | undefined
  readonly origin: string
  /** `undefined`: it has no payload. */
  readonly bytes: number | undefined
  /** The record under its key is of another message. */
  readonly isConflict: boolean
}

export interface Found {
  readonly from: string
  readonly messages: readonly FoundMessage[]
  readonly looked: number
  /** How many messages the place had when it was opened, as far as they were asked for. */
  readonly of: number
  readonly warnings: readonly string[]
}

/**
 * Looks through one place for messages. A log is only read. Reading a queue takes its messages out and hands them back, as a preview of
 * a redrive does: `warnings` says what that costs.
 *
 * @throws ConfigError `CONFIG_INVALID`; ReplayError `REPLAY_REFUSED`: a look may lose a message of the queue; BrokerError, StoreError
 */
export async function findMessages(
  consumer: Consumer,
  subscription: Subscription,
  { from, keys, selection = {}, lookAtMost, findAtMost, now, signal }: FindOptions,
): Promise<Found> {
  const of = new ReplayedConsumer(consumer, subscription)
  const lookup = new Lookup(of, selection, { keys })
  const reader = await of.open(from, [])
  try {
    const range = await reader.range({ max: lookAtMost, ...timesFor(reader, selection) })
    const found: FoundMessage[] = []
    let looked = 0
    for await (const items of reader.read(range, { signal })) {
      looked += items.length
      for (const one of await lookup.look(items, now)) {
        if (one.isSelected && found.length < findAtMost) found.push(await shownTo(of, from, one))
      }
      if (found.length >= findAtMost) break
    }
    const size = range.parts.reduce((sum, part) => sum + Number(BigInt(part.to) - BigInt(part.from)), 0)
    return { from, messages: found, looked, of: size, warnings: range.warnings }
  } finally {
    await reader.close()
  }
}

/** A queue cannot look a time up: its messages are selected by theirs. */
function timesFor({ takes }: ReplayReader, { since, until }: Selection): Pick<Selection, 'since' | 'until'> {
  return takes ? {} : { since, until }
}

async function shownTo(of: ReplayedConsumer, from: string, { item, key, view }: Looked): Promise<FoundMessage> {
  const { part, position, message, timestamp, deadLetter } = item
  const idempotencyKey = key === undefined ? undefined : await of.idempotencyKeyOf(message)
  return {
    from,
    part,
    position,
    key,
    idempotencyKey: typeof idempotencyKey === 'string' ? idempotencyKey : undefined,
    id: of.definition.logIds ? createIdReader(of.definition)(message) : undefined,
    origin: message.origin,
    timestamp,
    bytes: message.value?.length,
    deadLetter,
    isConflict: typeof view === 'object' && of.isConflict(item, view),
  }
}
