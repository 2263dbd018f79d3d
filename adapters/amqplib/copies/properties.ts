import { withoutUndefined } from '../../../src/index.ts'
import type { AmqpProperties, AmqpPublishProperties } from '../slice.ts'

/** AMQP's short strings. */
const MOST_TEXT_BYTES = 255

/**
 * Without `expiration`, which would end the copy too, and without `userId`, which the broker refuses from anybody but that
 * user. Without what can be read but not written either: a copy must leave, and properties are not what it is for.
 */
export function propertiesToKeep(properties: AmqpProperties): AmqpPublishProperties {
  return withoutUndefined<AmqpPublishProperties>({
    contentType: shortText(properties.contentType),
    contentEncoding: shortText(properties.contentEncoding),
    correlationId: shortText(properties.correlationId),
    replyTo: shortText(properties.replyTo),
    type: shortText(properties.type),
    appId: shortText(properties.appId),
    priority: number(properties.priority),
    timestamp: time(properties.timestamp),
  })
}

/** Bytes that are no UTF-8 become longer when they are decoded: 255 of them are 765 as text. */
export function shortText(value: unknown): string | undefined {
  return typeof value === 'string' && Buffer.byteLength(value) <= MOST_TEXT_BYTES ? value : undefined
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

/** The last of 64 bits is rounded up to 2^64, which takes 65. */
function time(value: unknown): number | undefined {
  return typeof value === 'number' && value < 2 ** 64 ? value : undefined
}
