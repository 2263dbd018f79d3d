import { definitionOf } from '../../consumer/define-consumer.ts'
import type { Key } from '../../core/record.ts'
import { adminOf, type Admin, type Inspected, type RecordRef } from '../../people/admin.ts'
import type { ConfiguredConsumer } from '../../people/config.ts'
import { idempotencyKeyIn, keyIn } from '../../records/key-in.ts'
import type { Subscription } from '../../ports/subscription.ts'
import { positionIn } from './position.ts'
import { messageAt, type MessageAt } from './read-at.ts'

/** What one consumer has under a text that a person has in hand. */
export interface InHand {
  readonly admin: Admin
  /** Of each key that the text may stand for; some may be absent. */
  readonly records: readonly Inspected[]
  /** The text is a place of this consumer: the message there. */
  readonly at: MessageAt | undefined
}

export interface InHandHow {
  /** Where the message was first published. @defaultValue any origin of the consumer */
  readonly origin?: string | undefined
  /** Asks a server, in bounded time. */
  readonly ask: <T>(work: () => Promise<T>) => Promise<T>
}

/**
 * The records that a text may stand for: a message ID, a key, an idempotency key, the ID of what a handler has published, or on Kafka the
 * place of a message. Changes nothing.
 *
 * @throws ConfigError `CONFIG_INVALID` for a store that people cannot look into, and for a text that can be no ID
 */
export async function recordsInHand(
  { consumer, subscription }: ConfiguredConsumer,
  text: string,
  { origin, ask }: InHandHow,
): Promise<InHand> {
  const admin = adminOf(consumer, subscription)
  // A key or a place is often copied with a blank; an ID may have one.
  const bare = text.trim()
  const position = positionIn(bare)
  if (position !== undefined && topicsOf(subscription).includes(position.topic)) {
    const at = await messageAt(consumer, subscription, position, ask)
    if (at !== undefined) return { admin, records: typeof at.record === 'string' ? [] : [at.record], at }
  }
  const byKey = new Map<Key, Inspected>()
  const look = async (of: Admin, ref: RecordRef, idempotencyKey?: string): Promise<void> => {
    for (const record of await ask(() => of.inspect([ref]))) {
      if (record.scope === 'another' || byKey.has(record.key)) continue
      byKey.set(record.key, { ...record, idempotencyKey: record.idempotencyKey ?? idempotencyKey })
    }
  }
  // Its dead letter may be there under an origin that has no record any more.
  const { keys = 'ids' } = definitionOf(consumer).store
  const key = keyIn(bare, keys)
  // A key of sequences is no ID of such a store, which has no others than numbered ones.
  const isId = keys === 'ids' || key === undefined
  for (const one of !isId ? [] : origin === undefined ? subscription.origins : [origin]) {
    await look(adminOf(consumer, { ...subscription, origins: [one] }), text)
  }
  if (key !== undefined) await look(admin, { key }, idempotencyKeyIn(bare, keys))
  return { admin, records: [...byKey.values()], at: undefined }
}

/** Topics in which a consumer has messages; none but on Kafka, as a queue has no places. */
export function topicsOf({ origins, replay }: Subscription): readonly string[] {
  return replay?.system === 'kafka' ? [...origins, ...replay.deadLetters] : []
}
