import { hasCode, type Consumer, type Message, type Starting } from '../../src/index.ts'
import { MemoryBroker, memoryReplay, runMemory } from '../../src/memory/index.ts'
import type { ReplayPlaces } from '../../src/internal.ts'
import { rabbitSubscription, runRabbit } from '../../adapters/amqplib/index.ts'
import { kafkaSubscription, runKafka, type KafkaOptions } from '../../adapters/kafkajs/index.ts'
import { idOf, type DeadLetterRow } from './ledger.ts'
import { payloadHash } from './input.ts'
import { given, reached, serverUrl } from './failures.ts'

/** Where the messages of a demo come from: it produces them, and consumes them as any consumer does. */
export interface DemoBroker {
  /** Topic or queue, for people. */
  readonly place: string
  /** To publish, and to read the dead letters. */
  readonly replay: ReplayPlaces | undefined
  readonly run: (consumer: Consumer) => Starting
  /** The broker in this process, on which the demo can cause faults. */
  readonly memory?: MemoryBroker
}

export type SourceName = 'memory' | 'kafka' | 'rabbitmq'

/** `name`: of topic, group and queue. */
export const BROKERS: Readonly<Record<SourceName, (name: string) => Promise<DemoBroker>>> = {
  memory: async (name) => {
    const memory = new MemoryBroker()
    const run = (consumer: Consumer): Starting => runMemory(memory, consumer, { topic: name, group: name })
    return { place: 'broker in memory', replay: memoryReplay(memory), run, memory }
  },
  kafka: async (topic) => {
    const brokers = (process.env['KAFKA_BROKERS'] ?? '127.0.0.1:9092').split(',')
    const { Kafka, logLevel } = (await given('--source kafka', () => import('kafkajs'))).default
    const retry = { retries: 5, maxRetryTime: 2_000 }
    const kafka = new Kafka({ brokers, logLevel: logLevel.NOTHING, connectionTimeout: 3_000, retry })
    const admin = kafka.admin()
    await reached(`Kafka at ${brokers.join(', ')}`, 'KAFKA_BROKERS', admin.connect())
    // The messages keep their own timestamps, which may be older than a topic's usual retention.
    const configEntries = [{ name: 'retention.ms', value: '-1' }]
    await admin.createTopics({ topics: [{ topic, numPartitions: 4, configEntries }] })
    await admin.disconnect()
    // A short session, so that a run after a kill need not wait long for its predecessor's partitions.
    const consumerConfig = { sessionTimeout: 6_000, heartbeatInterval: 1_000 }
    const options: KafkaOptions = { topics: [topic], group: topic, commitEveryMs: 250, consumerConfig }
    return {
      place: `Kafka topic and group ${topic}, dead letters in ${topic}.dead-letter`,
      replay: kafkaSubscription(kafka, options).replay,
      run: (own) => runKafka(kafka, own, options),
    }
  },
  rabbitmq: async (queue) => {
    const url = serverUrl('RABBITMQ_URL', 'amqp://guest:guest@127.0.0.1:5672')
    const { connect } = await given('--source rabbitmq', () => import('amqplib'))
    await (await reached(`RabbitMQ at ${url}`, 'RABBITMQ_URL', connect(url, { timeout: 5_000 }))).close()
    return {
      place: `RabbitMQ queue ${queue}, dead letters in ${queue}.dead-letter`,
      replay: rabbitSubscription(url, { queue }).replay,
      run: (consumer) => runRabbit(url, consumer, { queue }),
    }
  },
}

/** Resolves when the broker has confirmed all of them. */
export async function publish({ replay }: DemoBroker, messages: readonly Message[]): Promise<void> {
  const publisher = await replay?.publisher()
  const items = messages.map((message, index) => ({
    item: {
      part: '',
      position: String(index),
      message,
      timestamp: message.timestamp,
      timestampOf: 'producer' as const,
    },
    destination: message.destination,
    headers: {},
  }))
  await publisher?.publish(items)
  await publisher?.close()
}

/** The dead letters that the broker has, which stay there. */
export async function deadLettersOf({ replay }: DemoBroker): Promise<readonly DeadLetterRow[]> {
  const [place] = replay?.deadLetters ?? []
  if (replay === undefined || place === undefined) return []
  const rows: DeadLetterRow[] = []
  try {
    const reader = await replay.open(place)
    const { signal } = new AbortController()
    for await (const items of reader.read(await reader.range({}), { signal })) {
      for (const { message, deadLetter: { reason = 'unknown' } = {} } of items) {
        const id = reason === 'no-id' ? null : idOf(message)
        rows.push({ source: replay.system, id, reason, payload_sha256: payloadHash(message) })
      }
    }
    await reader.close()
  } catch (error) {
    // Kafka has no such topic before the first dead letter.
    if (!hasCode(error, 'CONFIG_INVALID')) throw error
  }
  return rows
}
