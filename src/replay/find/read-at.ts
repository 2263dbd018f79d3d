import { adminOf, type Inspected } from '../../people/admin.ts'
import type { Consumer } from '../../consumer/define-consumer.ts'
import { shortened } from '../../identity/digest.ts'
import type { ReplayItem } from '../../ports/replay.ts'
import type { Subscription } from '../../ports/subscription.ts'
import { ReplayedConsumer } from '../place.ts'
import type { Position } from './position.ts'

/** One message of a topic, with its record. */
export interface MessageAt {
  readonly item: ReplayItem
  /** Text: why the message has no key. */
  readonly record: Inspected | string
  /** The record is of another message with the same ID. */
  readonly isConflict: boolean
}

export const NOTHING_THERE =
  'no message is there: the partition ends before it, or the offset was compacted away or belongs to a transaction'

/**
 * Reads the message there from the broker, and its record from the store. Changes nothing.
 *
 * @param ask - asks a server, in bounded time
 * @returns `undefined`: `NOTHING_THERE`
 */
export async function messageAt(
  consumer: Consumer,
  subscription: Subscription,
  { topic, partition, offset }: Position,
  ask: <T>(work: () => Promise<T>) => Promise<T>,
): Promise<MessageAt | undefined> {
  const of = new ReplayedConsumer(consumer, subscription)
  const place = `${subscription.replay?.system}:${topic}@${partition}`
  const stop = new AbortController()
  try {
    const item = await ask(() => readAt(of, { place, offset, signal: stop.signal }))
    if (item === undefined) return undefined
    const idempotencyKey = await of.idempotencyKeyOf(item.message)
    if (typeof idempotencyKey !== 'string') return { item, record: idempotencyKey.detail, isConflict: false }
    const key = shortened(idempotencyKey)
    const [record] = await ask(() => adminOf(consumer, subscription).inspect([{ key }]))
    if (record === undefined) throw new TypeError('a key without a record or its absence (messageAt)')
    return { item, record: { ...record, idempotencyKey }, isConflict: of.isConflict(item, record) }
  } finally {
    stop.abort()
  }
}

async function readAt(
  of: ReplayedConsumer,
  { place, offset, signal }: { readonly place: string; readonly offset: bigint; readonly signal: AbortSignal },
): Promise<ReplayItem | undefined> {
  const reader = await of.open(place, [])
  try {
    const range = await reader.range({ from: offset, to: offset + 1n })
    for await (const items of reader.read(range, { signal })) {
      const found = items.find(({ position }) => position === String(offset))
      if (found !== undefined) return found
    }
    return undefined
  } finally {
    await reader.close()
  }
}
