import type { Publisher, Source } from '../../src/internal.ts'
import { AdminClient } from './admin-client.ts'
import { ConfirmedProducer } from './copies/confirmed-producer.ts'
import { enterGroup } from './membership/group-registry.ts'
import type { KafkaOptions } from './options/options.ts'
import { KafkaPublisher } from './copies/publisher.ts'
import { resolveKafka } from './options/resolve.ts'
import type { KafkaLike } from './kafkajs-like.ts'
import { KafkaSource } from './source.ts'

/**
 * Source and publisher for `runConsumer`. `source.close()` closes both. `consumerName`: a consumer with another name is
 * refused in the same group of this process, and causes a warning in another group.
 *
 * @throws ConfigError `CONFIG_INVALID`, `CONSUMER_NAME_TAKEN`
 */
export function kafkaSource(
  kafka: KafkaLike,
  options: KafkaOptions,
  consumerName?: string,
): { source: Source; publisher: Publisher } {
  const resolved = resolveKafka(options)
  const leaveGroup = enterGroup(kafka, resolved.group, resolved.topology, consumerName)
  const adminClient = new AdminClient(kafka)
  const publisher = new KafkaPublisher({
    producer: new ConfirmedProducer(kafka),
    adminClient,
    topology: () => resolved.topology,
    setup: resolved.setup,
    deadLetterHeaders: resolved.deadLetterHeaders,
  })
  const afterClose = async (): Promise<void> => {
    leaveGroup()
    await publisher.close()
  }
  return { source: new KafkaSource({ kafka, adminClient, options: resolved, consumerName, afterClose }), publisher }
}
