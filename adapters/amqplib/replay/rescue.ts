import type { Connector } from '../connection/connector.ts'
import { propertiesToKeep, shortText } from '../message/properties.ts'
import { writable } from '../message/writable.ts'
import { ReopeningPublisher } from '../publishing/confirmed-publisher.ts'
import type { AmqpMessage } from '../amqplib-like.ts'

/**
 * Publishes messages to the end of their own queue, confirmed and without their counts: the broker would drop the
 * originals when they are handed back.
 *
 * @throws BrokerError
 */
export async function publishAgain(
  connector: Connector,
  queue: string,
  messages: readonly AmqpMessage[],
): Promise<void> {
  const publisher = new ReopeningPublisher(connector, `consume-once ${queue}, replay`)
  try {
    for (const { content, properties } of messages) {
      const { 'x-delivery-count': _returns, 'x-acquired-count': _looks, ...headers } = properties.headers ?? {}
      await publisher.publish({
        routingKey: queue,
        body: content,
        messageId: shortText(properties.messageId),
        headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, writable(value)])),
        properties: propertiesToKeep(properties),
      })
    }
  } finally {
    await publisher.close()
  }
}
