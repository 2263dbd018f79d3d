import type { AdaptedKafka, Admin, KafkaClient, Producer } from '../kafka/client.ts'
import { partitionFor } from '../kafka/copies/partition-for.ts'
import { weaker } from '../kafka/checkup/findings.ts'
import type { KafkaOptions } from '../kafka/options/options.ts'
import { adapted, sourceOn } from '../kafka/run.ts'
import { assignersFor } from './assigner.ts'
import { connectAny } from './connect-any.ts'
import { isKafkajs } from './fetch/own-decoder.ts'
import { KafkajsMember } from './member.ts'
import type { KafkaLike } from './kafkajs-like.ts'

/** For requests about a group kafkajs uses the retry settings of the user's client instead. */
const ADMIN_RETRY = { retries: 5, initialRetryTime: 100, maxRetryTime: 1_000 }
const PRODUCER_RETRY = { retries: 3, initialRetryTime: 100, maxRetryTime: 1_000 }

/** What `runKafka` takes is a client of kafkajs, or another one that was adapted. */
export function clientOf(kafka: KafkaLike | AdaptedKafka): KafkaClient {
  return adapted(kafka) ?? kafkajsClient(kafka as KafkaLike)
}

/** kafkajs, with what guards it against its own defects. */
export function kafkajsClient(kafka: KafkaLike): KafkaClient {
  return {
    given: kafka,
    member: async (options, listener) => {
      const { companions } = options
      const { groupProtocol: _, ...consumerConfig } = options.consumerConfig
      const partitionAssigners = consumerConfig.partitionAssigners ?? (await assignersFor(companions))
      const config = partitionAssigners === undefined ? consumerConfig : { ...consumerConfig, partitionAssigners }
      return new KafkajsMember(kafka, { ...options, consumerConfig: config }, listener)
    },
    admin: async (): Promise<Admin> => {
      const admin = kafka.admin({ retry: ADMIN_RETRY })
      await connectAny(admin)
      return admin
    },
    producer: async (): Promise<Producer> => {
      const producer = kafka.producer({
        idempotent: false,
        allowAutoTopicCreation: false,
        retry: PRODUCER_RETRY,
        createPartitioner: () => partitionFor,
      })
      await connectAny(producer)
      return producer
    },
    problems: ({ groupProtocol }) =>
      groupProtocol === 'consumer'
        ? [
            "consumerConfig.groupProtocol: expected 'classic', the only protocol that kafkajs has, got 'consumer': use consume-once/platformatic-kafka",
          ]
        : [],
    checkup: () => {
      if (isKafkajs(kafka)) return []
      const found = 'the client is not the object that new Kafka() of kafkajs 2.2 returns'
      const meaning =
        'Its fetches may not be decoded here: then messages of transactions are not handled, because kafkajs hands over aborted ones too. Pass the object of kafkajs itself.'
      return [weaker('client', found, meaning)]
    },
  }
}

/** Source and publisher, for `runConsumer`. */
export function kafkaSource(
  kafka: KafkaLike | AdaptedKafka,
  options: KafkaOptions,
  consumerName?: string,
): ReturnType<typeof sourceOn> {
  return sourceOn(clientOf(kafka), options, consumerName)
}
