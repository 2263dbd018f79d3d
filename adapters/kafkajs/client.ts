import type { Admin, KafkaClient, Producer } from '../kafka/client.ts'
import { weaker } from '../kafka/checkup/findings.ts'
import type { KafkaOptions } from '../kafka/options/options.ts'
import { sourceOn } from '../kafka/run.ts'
import { assignersFor } from './assigner.ts'
import { connectAny } from './connect-any.ts'
import { isKafkajs } from './fetch/own-decoder.ts'
import { KafkajsMember } from './member.ts'
import type { KafkaLike, PartitionerArgsLike } from './kafkajs-like.ts'

/** For requests about a group kafkajs uses the retry settings of the user's client instead. */
const ADMIN_RETRY = { retries: 5, initialRetryTime: 100, maxRetryTime: 1_000 }
const PRODUCER_RETRY = { retries: 3, initialRetryTime: 100, maxRetryTime: 1_000 }

/** What `runKafka` takes is a client of kafkajs, or another one that was adapted. */
export function clientOf(kafka: KafkaLike | KafkaClient): KafkaClient {
  return isAdapted(kafka) ? kafka : kafkajsClient(kafka)
}

function isAdapted(kafka: KafkaLike | KafkaClient): kafka is KafkaClient {
  return typeof kafka === 'object' && kafka !== null && 'member' in kafka
}

/** kafkajs, with what guards it against its own defects. */
export function kafkajsClient(kafka: KafkaLike): KafkaClient {
  return {
    given: kafka,
    member: async (options, listener) => {
      const { consumerConfig, companions } = options
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
    checkup: () => {
      if (isKafkajs(kafka)) return []
      const found = 'the client is not the object that new Kafka() of kafkajs 2.2 returns'
      const meaning =
        'Its fetches may not be decoded here: then messages of transactions are not handled, because kafkajs hands over aborted ones too. Pass the object of kafkajs itself.'
      return [weaker('client', found, meaning)]
    },
  }
}

/**
 * The partition that was asked for, else one that keeps messages of one key together. Other clients may choose other
 * partitions; nothing here depends on the choice.
 */
function partitionFor({ partitionMetadata, message }: PartitionerArgsLike): number {
  if (message.partition !== undefined) return message.partition
  const led = partitionMetadata.filter(({ leader }) => leader >= 0)
  const choice = led.length > 0 ? led : partitionMetadata
  const sorted = choice.map(({ partitionId }) => partitionId).toSorted((a, b) => a - b)
  let hash = 0
  for (const byte of Buffer.from(message.key ?? '')) hash = (hash * 31 + byte) >>> 0
  return sorted[hash % sorted.length] ?? 0
}

/** Source and publisher, for `runConsumer`. */
export function kafkaSource(
  kafka: KafkaLike | KafkaClient,
  options: KafkaOptions,
  consumerName?: string,
): ReturnType<typeof sourceOn> {
  return sourceOn(clientOf(kafka), options, consumerName)
}
