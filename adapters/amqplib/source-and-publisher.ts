import type { Publisher, Source } from '../../src/internal.ts'
import { enterQueue } from './consuming/queue-registry.ts'
import { ConfirmedCopies } from './copies/confirmed-copies.ts'
import { DelayedCopies } from './copies/delayed.ts'
import { RabbitPublisher } from './copies/publisher.ts'
import { ReopeningPublisher } from './publishing/confirmed-publisher.ts'
import { connectorOf, type RabbitConnect } from './connection/connector.ts'
import type { RabbitOptions } from './options/options.ts'
import { rabbitEvents } from './report.ts'
import { resolveRabbitOptions } from './options/resolve.ts'
import { RabbitSource } from './source.ts'

/**
 * Source and publisher for `runConsumer`. They use separate connections, because a broker that runs out of memory
 * blocks connections that publish. To close the source closes both. `consumerName`: a consumer with another name is
 * refused on the same queue in this process.
 *
 * @throws ConfigError `CONFIG_INVALID`, `CONSUMER_NAME_TAKEN`
 */
export function rabbitSource(
  connect: RabbitConnect,
  options: RabbitOptions,
  consumerName?: string,
): { readonly source: Source; readonly publisher: Publisher } {
  const settings = resolveRabbitOptions(options)
  const connector = connectorOf(connect)
  const leaveQueue = consumerName === undefined ? () => {} : enterQueue(connector.place, settings.queue, consumerName)
  const publisher = new ReopeningPublisher(connector, `consume-once ${settings.queue}, copies`)
  const delayed = new DelayedCopies(settings.retry.kind === 'delay-queues' ? settings.retry.queues : [])
  const events = rabbitEvents()
  const afterClose = async (): Promise<void> => {
    leaveQueue()
    await publisher.close()
  }
  const source = new RabbitSource({ connector, settings, delayed, events, afterClose })
  const copies = new ConfirmedCopies(publisher, (queue) => source.declareAgain(queue))
  return { source, publisher: new RabbitPublisher({ copies, settings, delayed, events }) }
}
