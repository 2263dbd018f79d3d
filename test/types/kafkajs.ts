// The real client fits the slice that the adapter uses, and what the adapter owns cannot be set.
import { Kafka, PartitionAssigners } from 'kafkajs'
import {
  confirmedPublisher,
  eachBatch,
  eachMessage,
  kafkaSubscription,
  runKafka,
  type KafkaLike,
} from '../../adapters/kafkajs/index.ts'
import { defineConsumer, type StartResult } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'

const kafka = new Kafka({ brokers: ['127.0.0.1:9092'] })
const consumer = defineConsumer({ name: 'types', store: memoryStore(), handle: () => {} })

export const fits: KafkaLike = kafka
export const fitsSubscription: KafkaLike = kafka
export const from: unknown = kafkaSubscription(kafka, { topics: ['t'], group: 'g' })

export async function legal(): Promise<void> {
  await runKafka(kafka, consumer, { topics: ['t'], group: 'g' })
  await runKafka(kafka, consumer, {
    topics: ['t'],
    group: 'g',
    deadLetter: { topic: (origin) => `${origin}.dlq`, headers: 'spring' },
    retry: { topics: [{ delayMs: 60_000 }, { delayMs: 600_000, topic: (origin) => `${origin}.later` }] },
    startAt: 'latest',
    setup: 'check',
    order: 'partition',
    consumerConfig: {
      sessionTimeout: 30_000,
      partitionAssigners: [PartitionAssigners.roundRobin],
      rackId: 'a',
      retry: { retries: 20 },
    },
  })
}

/** A stop during the start is a value, and no other outcome can be meant. */
export async function started(): Promise<boolean> {
  const running = runKafka(kafka, consumer, { topics: ['t'], group: 'g' })
  const result: StartResult = await running.ready()
  // @ts-expect-error a failure rejects
  if (result === 'failed') return false
  return result === 'ready'
}

/** A consumer that stays the user's own. */
export async function legalDropIn(): Promise<void> {
  const own = kafka.consumer({ groupId: 'g' })
  const onMessage = eachMessage(consumer)
  await own.run({ eachMessage: onMessage })
  await own.run({ eachMessage: (payload) => onMessage(payload) })
  await own.run({ eachBatch: eachBatch(consumer, { group: 'g', kafka, order: 'none' }), eachBatchAutoResolve: false })
  await Promise.all([own.stop(), onMessage.stop({ deadlineMs: 1_000 })])
  const ready: boolean = onMessage.health().ready
  await using ends = ready ? onMessage : eachBatch(consumer)
  await ends.stop()
}

export async function illegalDropIn(): Promise<void> {
  const own = kafka.consumer({ groupId: 'g' })
  // @ts-expect-error a batch is no message
  await own.run({ eachMessage: eachBatch(consumer) })
  // @ts-expect-error a message is no batch
  await own.run({ eachBatch: eachMessage(consumer) })
  // @ts-expect-error a definition, not its options
  eachMessage({ name: 'types', store: memoryStore(), handle: () => {} })
  // @ts-expect-error its partitions are fetched by kafkajs
  eachMessage(consumer, { topics: ['t'] })
}

export async function illegal(): Promise<void> {
  // @ts-expect-error topics and group are needed
  await runKafka(kafka, consumer, { topics: ['t'] })
  // @ts-expect-error a topic is named, not matched
  await runKafka(kafka, consumer, { topics: [/t/], group: 'g' })
  // @ts-expect-error a retry topic without a delay
  await runKafka(kafka, consumer, { topics: ['t'], group: 'g', retry: { topics: [{ topic: 'r' }] } })
  // @ts-expect-error the adapter always subscribes from the beginning
  await runKafka(kafka, consumer, { topics: ['t'], group: 'g', fromBeginning: false })
  // @ts-expect-error uncommitted messages may be aborted, and their offsets lie past what the broker tells
  await runKafka(kafka, consumer, { topics: ['t'], group: 'g', consumerConfig: { readUncommitted: true } })
  // @ts-expect-error the adapter decides whether its consumer comes again
  await runKafka(kafka, consumer, { topics: ['t'], group: 'g', consumerConfig: { retry: { restartOnFailure: 1 } } })
}

/** A message has an ID, and its bytes are bytes or text. */
export async function publishing(): Promise<void> {
  await using publisher = confirmedPublisher(kafka)
  await publisher.publish({ topic: 't', messageId: '1', value: 'v' })
  await publisher.publish({ topic: 't', messageId: '2', value: null, key: Buffer.from('k'), partition: 3 })
  await publisher.publish({ topic: 't', messageId: '3', value: Buffer.from('v'), headers: { a: 'b', c: ['d', 'e'] } })
  // @ts-expect-error no client sets an ID that stays the same
  await publisher.publish({ topic: 't', value: 'v' })
  // @ts-expect-error JSON.stringify() makes text of it
  await publisher.publish({ topic: 't', messageId: '4', value: { to: 'x' } })
  // @ts-expect-error kafkajs has no way to send it
  await publisher.publish({ topic: 't', messageId: '5', value: 'v', headers: { a: null } })
}
