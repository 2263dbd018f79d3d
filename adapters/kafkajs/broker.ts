import type { Publisher, Source } from '../../src/index.ts'
import { AdminDesk } from './admin-desk.ts'
import { ConfirmedProducer } from './confirmed-producer.ts'
import { enterGroup } from './group-registry.ts'
import type { KafkaOptions } from './options.ts'
import { KafkaPublisher } from './publisher.ts'
import { resolveKafka } from './resolve-options.ts'
import type { KafkaLike } from './slice.ts'
import { KafkaSource } from './source.ts'

/**
 * The two sides of Kafka that `runConsumer` takes. `source.close()` closes both.
 *
 * @throws ConfigError `CONFIG_INVALID`
 */
export function kafkaBroker(kafka: KafkaLike, options: KafkaOptions): { source: Source; publisher: Publisher } {
  const resolved = resolveKafka(options)
  const leaveGroup = enterGroup(kafka, resolved.groupId, resolved.topology)
  const desk = new AdminDesk(kafka)
  const publisher = new KafkaPublisher({
    producer: new ConfirmedProducer(kafka),
    desk,
    topology: () => resolved.topology,
    assert: resolved.assert,
    deadLetterHeaders: resolved.deadLetterHeaders,
  })
  const afterClose = async (): Promise<void> => {
    leaveGroup()
    await publisher.close()
  }
  return { source: new KafkaSource({ kafka, desk, options: resolved, afterClose }), publisher }
}
