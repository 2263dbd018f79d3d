import type { Publisher, Source } from '../../src/index.ts'
import { Counts } from './consuming/counts.ts'
import { ConfirmedCopies } from './copies/confirmed-copies.ts'
import { DelayedCopies } from './copies/delayed.ts'
import { RabbitPublisher } from './copies/publisher.ts'
import { ReopeningPublisher } from './publishing/confirmed-publisher.ts'
import { connectorOf, type RabbitConnect } from './connection/connector.ts'
import type { RabbitOptions } from './options/options.ts'
import { resolveRabbitOptions } from './options/resolve.ts'
import { RabbitSource } from './source.ts'

/**
 * Both sides of RabbitMQ for `runConsumer`: where messages come from and where copies go, on connections apart, since
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
  const publisher = new ReopeningPublisher(connector, `consume-once ${settings.queue}, copies`)
  const delayed = new DelayedCopies(settings.retry.kind === 'delay-queues' ? settings.retry.queues : [])
  const counts = new Counts()
  const source = new RabbitSource({ connector, settings, delayed, counts, afterClose: () => publisher.close() })
  const copies = new ConfirmedCopies(publisher, (queue) => source.declareAgain(queue))
  return { source, publisher: new RabbitPublisher({ copies, settings, delayed, counts }) }
}
