import type { Publisher, Source } from '../../src/index.ts'
import { ReopeningPublisher } from './confirmed-publisher.ts'
import { connectorOf, type RabbitConnect } from './connector.ts'
import { DeadLetterQueue } from './dead-letter.ts'
import { resolveRabbitOptions, type RabbitOptions } from './options.ts'
import { RabbitSource } from './source.ts'

/**
 * Both sides of RabbitMQ for `runConsumer`: where messages come from and where dead letters go, on connections apart, since
 * a broker that runs out of memory blocks those that publish. Closing the source closes both.
 *
 * @throws ConfigError `CONFIG_INVALID`
 */
export function rabbitBroker(
  connect: RabbitConnect,
  options: RabbitOptions,
): { readonly source: Source; readonly publisher: Publisher } {
  const settings = resolveRabbitOptions(options)
  const connector = connectorOf(connect)
  const publisher = new ReopeningPublisher(connector, `consume-once ${settings.queue}, dead letters`)
  return {
    source: new RabbitSource(connector, settings, publisher),
    publisher: new DeadLetterQueue(publisher, settings.deadLetterQueue),
  }
}
