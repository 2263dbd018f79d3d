import { withoutUndefined } from '../../../src/index.ts'
import type { AmqpProperties, AmqpPublishProperties } from '../slice.ts'

/**
 * Without `expiration`, which would end the copy too, and without `userId`, which the broker refuses from anybody but that
 * user.
 */
export function propertiesToKeep(properties: AmqpProperties): AmqpPublishProperties {
  return withoutUndefined<AmqpPublishProperties>({
    contentType: text(properties.contentType),
    contentEncoding: text(properties.contentEncoding),
    correlationId: text(properties.correlationId),
    replyTo: text(properties.replyTo),
    type: text(properties.type),
    appId: text(properties.appId),
    priority: number(properties.priority),
    timestamp: number(properties.timestamp),
  })
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}
