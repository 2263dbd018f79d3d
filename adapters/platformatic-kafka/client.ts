import type { KafkaClient } from '../kafka/client.ts'
import { openAdmin } from './admin.ts'
import { PlatformaticMember } from './member.ts'
import type { BaseOptionsLike, PlatformaticLike } from './platformatic-like.ts'
import { openProducer } from './producer.ts'

const OF_KAFKAJS = ['retry', 'partitionAssigners', 'maxInFlightRequests', 'rackId', 'allowAutoTopicCreation'] as const

/** `@platformatic/kafka`, as the port of adapters/kafka. */
export function platformaticClient(lib: PlatformaticLike, options: BaseOptionsLike): KafkaClient {
  return {
    // Each member has connections of its own, so any number may share what the user made.
    get given() {
      return {}
    },
    member: async (asked, listener) => new PlatformaticMember(lib, options, asked, listener),
    admin: () => openAdmin(lib, options),
    producer: () => openProducer(lib, options),
    problems: (given) =>
      OF_KAFKAJS.filter((name) => given[name] !== undefined).map(
        (name) => `consumerConfig.${name}: leave it out, it is an option of kafkajs`,
      ),
    checkup: () => [],
  }
}
