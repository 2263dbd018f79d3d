import type { Key, RecordView } from '../../core/record.ts'
import type { Lack } from '../../core/replay.ts'
import type { EpochMs } from '../../core/units.ts'
import type { Consumer } from '../../consumer/define-consumer.ts'
import { scopeText } from '../../consumer/scope.ts'
import { createIdReader } from '../../pipeline/intake/identify.ts'
import type { ReplayItem, ReplayReader } from '../../ports/replay.ts'
import type { Subscription } from '../../ports/subscription.ts'
import { Lookup, type Looked } from '../look.ts'
import { ReplayedConsumer } from '../place.ts'
import type { Selection } from '../plan.ts'

export interface FindOptions {
  /** `kafka:sms.dead-letter`, `rabbitmq:emails.dead-letter`. */
  readonly from: string
  /** Only messages with these keys. @defaultValue all */
  readonly keys?: readonly Key[] | undefined
  readonly selection?: Selection
  /** Only with this text in the payload, a header or the key, as bytes of UTF-8. @defaultValue any */
  readonly text?: string | undefined
  /** The most messages to look at. */
  readonly lookAtMost: number
  /** The most messages to find. */
  readonly findAtMost: number
  readonly now: EpochMs
  /** Ends the search: what was found until then is the result. */
  readonly signal: AbortSignal
  /** Gets how many messages were looked at and found so far. @defaultValue nothing is told */
  readonly tell?: (progress: { readonly looked: number; readonly found: number }) => void
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
  /** Of the record under its key. `undefined`: it has no usable ID. */
  readonly state: RecordView['state'] | undefined
  /** The record under its key is of another message. */
  readonly isConflict: boolean
}

export interface Found {
  readonly from: string
  readonly messages: readonly FoundMessage[]
  readonly looked: number
  /** How many messages the place had when it was opened, as far as they were asked for. */
  readonly of: number
  /** Messages that were left out because nothing tells whether they are meant. */
  readonly lacking: Readonly<Record<Lack, number>>
  readonly warnings: readonly string[]
}

/**
 * Looks through one place for messages. A log is only read. Reading a queue takes its messages out and hands them back, as a preview of
 * a redrive does: `warnings` says what that costs.
 *
 * @throws ConfigError `CONFIG_INVALID`; ReplayError `REPLAY_REFUSED`: a look may lose a message of the queue; `DECODER_UNREACHABLE`;
 *   BrokerError, StoreError
 */
export async function findMessages(
  consumer: Consumer,
  subscription: Subscription,
  { from, keys, selection = {}, text, lookAtMost, findAtMost, now, signal, tell }: FindOptions,
): Promise<Found> {
  const of = new ReplayedConsumer(consumer, subscription)
  const lookup = new Lookup(of, selection, { keys })
  const reader = await of.open(from, [])
  try {
    const range = await reader.range({ max: lookAtMost, ...timesFor(reader, selection) })
    const found: FoundMessage[] = []
    const lacking = { undated: 0, 'no-reason': 0, 'no-field': 0 }
    let looked = 0
    for await (const items of reader.read(range, { signal })) {
      looked += items.length
      const having = text === undefined ? items : items.filter((item) => holds(item, text))
      for (const one of await lookup.look(having, now)) {
        if (one.selected === 'no') continue
        if (one.selected !== 'yes') lacking[one.selected]++
        else if (found.length < findAtMost) found.push(await shownTo(of, from, one))
      }
      tell?.({ looked, found: found.length })
      if (found.length >= findAtMost) break
    }
    const size = range.parts.reduce((sum, part) => sum + Number(BigInt(part.to) - BigInt(part.from)), 0)
    return { from, messages: found, looked, of: size, lacking, warnings: range.warnings }
  } finally {
    await reader.close()
  }
}

/** In the bytes as they are: no decoder is asked, and JSON may write a text otherwise. */
function holds({ message }: ReplayItem, text: string): boolean {
  const { key, value, headers, messageId = '' } = message
  const has = (bytes: Uint8Array | null): boolean => bytes !== null && Buffer.from(bytes).includes(text)
  return (
    has(value) || has(key) || messageId.includes(text) || Object.values(headers).some((header) => hasText(header, text))
  )
}

function hasText(header: unknown, text: string): boolean {
  if (header instanceof Uint8Array) return Buffer.from(header).includes(text)
  if (Array.isArray(header)) return header.some((one) => hasText(one, text))
  return (typeof header === 'string' || typeof header === 'number') && `${header}`.includes(text)
}

/** A queue cannot look a time up: its messages are selected by theirs. */
function timesFor({ takes }: ReplayReader, { since, until }: Selection): Pick<Selection, 'since' | 'until'> {
  return takes ? {} : { since, until }
}

async function shownTo(of: ReplayedConsumer, from: string, looked: Looked): Promise<FoundMessage> {
  const { item, key, view } = looked
  const { part, position, message, timestamp, deadLetter } = item
  const idempotencyKey = key === undefined ? undefined : await of.idempotencyKeyOf(message)
  return {
    from,
    part,
    position,
    key,
    idempotencyKey: typeof idempotencyKey === 'string' ? idempotencyKey : undefined,
    id: shownId(of, looked),
    origin: message.origin,
    timestamp,
    bytes: message.value?.length,
    deadLetter,
    state: typeof view === 'object' ? view.state : undefined,
    isConflict: typeof view === 'object' && of.isConflict(item, view),
  }
}

/** The ID of a message, if people may see it. */
export function shownId({ definition }: ReplayedConsumer, { item, payload }: Looked): string | undefined {
  return definition.logIds ? createIdReader(definition)(item.message, decodedOf(payload())) : undefined
}

/** Only for a condition is a payload decoded before. */
function decodedOf(payload: unknown): { readonly payload: unknown } | undefined {
  return payload === undefined ? undefined : { payload }
}

/** Who set a dead letter aside, as far as its headers tell. */
export function setAsideBy({
  consumer,
  group,
}: Pick<NonNullable<ReplayItem['deadLetter']>, 'consumer' | 'group'>): string | undefined {
  return consumer === undefined || group === undefined ? consumer : scopeText([group, consumer])
}
