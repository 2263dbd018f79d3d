import { withoutUndefined } from '../../../src/internal.ts'
import type { AmqpProperties, AmqpPublishProperties } from '../amqplib-like.ts'

/** Maximum length of an AMQP short string. */
const MOST_TEXT_BYTES = 255

/**
 * Without `expiration`, which would expire the copy too, and without `userId`, which the broker accepts only from that
 * user. Also without values that can be read but not written: the copy itself is more important than its properties.
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

/** Invalid UTF-8 becomes longer when it is decoded: 255 bytes may become 765. */
export function shortText(value: unknown): string | undefined {
  return typeof value === 'string' && Buffer.byteLength(value) <= MOST_TEXT_BYTES ? value : undefined
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

/** The largest 64-bit number is rounded up to 2^64, which does not fit. */
function time(value: unknown): number | undefined {
  return typeof value === 'number' && value < 2 ** 64 ? value : undefined
}
