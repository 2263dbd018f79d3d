import type { Attributes } from '@opentelemetry/api'
import { COPY_HEADER, type Key, type Message, type TracedConsumer, type TracedItem } from '../../src/internal.ts'

/** The attributes of a message, by the messaging conventions. They contain no payload and no message ID, which is often personal data. */
export function attributesOfMessage(message: Message, group: string): Attributes {
  const { system, position, value, key } = message
  const attributes: Attributes = { 'messaging.message.body.size': value?.byteLength ?? 0 }
  if (system === 'rabbitmq') {
    const tag = Number(position.slice(position.indexOf('/') + 1))
    if (Number.isSafeInteger(tag)) attributes['messaging.rabbitmq.message.delivery_tag'] = tag
    return attributes
  }
  const [partition, offset] = position.split('@')
  attributes['messaging.consumer.group.name'] = group
  if (offset !== undefined) {
    attributes['messaging.destination.partition.id'] = partition
    // A partition has its number in any log; this attribute is Kafka's alone.
    if (system === 'kafka' || system === 'memory') attributes['messaging.kafka.offset'] = Number(offset)
  }
  if (key !== null && value === null) attributes['messaging.kafka.message.tombstone'] = true
  return attributes
}

/** The attributes of a delivery, or of the first message of a run. */
export function attributesOfStart(
  { name, scope, strategy }: TracedConsumer,
  { headers }: Message,
  key?: Key,
): Attributes {
  const attributes: Attributes = {
    'consume_once.consumer': name,
    'consume_once.scope': scope,
    'consume_once.strategy': strategy,
  }
  if (key !== undefined) attributes['consume_once.key'] = key
  const replay = Object.hasOwn(headers, COPY_HEADER.replayId) ? headers[COPY_HEADER.replayId] : undefined
  if (typeof replay === 'string' || Buffer.isBuffer(replay)) attributes['consume_once.replay.id'] = String(replay)
  return attributes
}

export function attributesOfRun(consumer: TracedConsumer, items: readonly [TracedItem, ...TracedItem[]]): Attributes {
  const [{ task, claim, doubt }] = items
  if (items.length > 1) return attributesOfStart(consumer, task.message)
  return {
    ...attributesOfStart(consumer, task.message, task.key),
    'consume_once.verdict': doubt ? 'taken-over' : 'claimed',
    'consume_once.attempt': claim.attempt,
    'consume_once.fence': claim.fence,
  }
}
