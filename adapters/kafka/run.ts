import {
  ConfigError,
  runConsumer,
  type Consumer,
  type Publisher,
  type Source,
  type Starting,
  type Subscription,
} from '../../src/internal.ts'
import { AdminClient } from './admin-client.ts'
import { checkGroup } from './checkup/checkup.ts'
import { kafkaPlaces } from './replay/places.ts'
import { ConfirmedProducer } from './copies/confirmed-producer.ts'
import { enterGroup } from './membership/group-registry.ts'
import type { KafkaOptions } from './options/options.ts'
import { KafkaPublisher } from './copies/publisher.ts'
import { resolveKafka, type ResolvedKafka } from './options/resolve.ts'
import type { KafkaClient } from './client.ts'
import { KafkaSource } from './source.ts'

/** A start asks some ten questions one after the other, and a rebalance a few: over one connection. */
const KEEP_ADMIN_MS = 1_000

/**
 * Source and publisher for `runConsumer`. `source.close()` closes both. `consumerName`: a consumer with another name is
 * refused in the same group of this process, and causes a warning in another group.
 *
 * @throws ConfigError `CONFIG_INVALID`, `CONSUMER_NAME_TAKEN`
 */
export function sourceOn(
  client: KafkaClient,
  options: KafkaOptions,
  consumerName?: string,
): { source: Source; publisher: Publisher } {
  const resolved = resolvedFor(client, options, 'runKafka')
  const leaveGroup = enterGroup(client.given, resolved.group, resolved.topology, consumerName)
  const adminClient = new AdminClient(client, KEEP_ADMIN_MS)
  const publisher = new KafkaPublisher({
    producer: new ConfirmedProducer(client),
    adminClient,
    topology: () => resolved.topology,
    setup: resolved.setup,
    deadLetterHeaders: resolved.deadLetterHeaders,
  })
  const afterClose = async (): Promise<void> => {
    leaveGroup()
    adminClient.close()
    await publisher.close()
  }
  return { source: new KafkaSource({ client, adminClient, options: resolved, consumerName, afterClose }), publisher }
}

/** `runKafka`, with any client. */
export function runOn(client: KafkaClient, consumer: Consumer, options: KafkaOptions): Starting {
  return runConsumer(consumer, () => sourceOn(client, options, consumer.name))
}

/** `kafkaSubscription`, with any client. */
export function subscriptionOn(client: KafkaClient, options: KafkaOptions): Subscription {
  const resolved = resolvedFor(client, options, 'kafkaSubscription')
  return {
    group: resolved.group,
    origins: resolved.topology.sources,
    checkup: (consumer) => checkGroup(client, resolved, consumer),
    replay: kafkaPlaces(client, resolved),
  }
}

function resolvedFor(client: KafkaClient, options: KafkaOptions, of: string): ResolvedKafka {
  // First: what it does not have needs no other value.
  const { consumerConfig } = (options ?? {}) as Partial<KafkaOptions>
  const problems = client.problems(consumerConfig ?? {})
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `${of}: ${problem}`))
  return resolveKafka(options, of)
}

/** What `platformaticKafka()` and the like returned; `undefined` for anything else. */
export function adapted(kafka: object): KafkaClient | undefined {
  return typeof kafka === 'object' && kafka !== null && 'member' in kafka ? (kafka as KafkaClient) : undefined
}
