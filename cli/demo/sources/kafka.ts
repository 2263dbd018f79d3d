import type { Admin, Kafka, Producer } from 'kafkajs'
import type { Consumer, Running } from '../../../src/index.ts'
import { COPY_HEADER } from '../../../src/spi.ts'
import { runKafka } from '../../../adapters/kafkajs/index.ts'
import { CommandError, EXIT } from '../../exit.ts'
import { installed } from '../installed.ts'
import { headerRecord, ID_HEADER, sha256, type InputMessage } from '../envelope.ts'
import type { DemoState } from '../state.ts'
import { PUBLISH_HEADER, type DeadLetterRow, type DemoSource, type Outgoing } from './demo-source.ts'
import { until } from './until.ts'

const PARTITIONS = 4
/** The usual `message.max.bytes`, minus the overhead of the record and the headers of a dead letter. */
const MAX_MESSAGE_BYTES = 1_000_000
/** Maximum bytes of one send: together the messages must not be larger than one message may be. */
const MAX_SEND_BYTES = 900_000
/** Maximum messages of one send. */
const CHUNK = 500

export async function kafkaDemoSource(state: DemoState): Promise<DemoSource> {
  const brokers = (process.env['KAFKA_BROKERS'] ?? '127.0.0.1:9092').split(',')
  const { default: kafkajs } = await installed('kafkajs', import('kafkajs'))
  const kafka = new kafkajs.Kafka({
    clientId: 'consume-once-demo',
    brokers,
    logLevel: kafkajs.logLevel.NOTHING,
    connectionTimeout: 3_000,
    retry: { retries: 5, maxRetryTime: 2_000 },
  })
  const admin = kafka.admin()
  const producer = kafka.producer()
  try {
    await admin.connect()
    await createTopic(admin, state.namespace)
    await producer.connect()
  } catch (cause) {
    await Promise.allSettled([admin.disconnect(), producer.disconnect()])
    throw new CommandError(
      EXIT.unreachable,
      `no Kafka answers at ${brokers.join(', ')} (${String(cause)}). Start one, or set KAFKA_BROKERS. Nothing was produced.`,
      { cause },
    )
  }
  return new KafkaDemoSource(kafka, admin, producer, state.namespace)
}

async function createTopic(admin: Admin, topic: string): Promise<void> {
  // The messages keep their own timestamps, which may be older than a topic's usual retention.
  const configEntries = [{ name: 'retention.ms', value: '-1' }]
  await admin.createTopics({ topics: [{ topic, numPartitions: PARTITIONS, configEntries }], waitForLeaders: false })
  // Just after creation the metadata may not contain it yet.
  await until(async () => (await partitionsOf(admin, topic)).length === PARTITIONS)
}

async function partitionsOf(admin: Admin, topic: string): Promise<readonly number[]> {
  try {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
    return topics.flatMap(({ partitions }) => partitions.filter(({ leader }) => leader >= 0).map((p) => p.partitionId))
  } catch {
    return []
  }
}

class KafkaDemoSource implements DemoSource {
  readonly place: string
  readonly #kafka: Kafka
  readonly #admin: Admin
  readonly #producer: Producer
  readonly #topic: string

  constructor(kafka: Kafka, admin: Admin, producer: Producer, topic: string) {
    this.#kafka = kafka
    this.#admin = admin
    this.#producer = producer
    this.#topic = topic
    this.place = `Kafka topic and group ${topic}, dead letters in ${topic}.dead-letter`
  }

  refusal({ key, value, headerBytes }: InputMessage): string | undefined {
    const bytes = (key?.length ?? 0) + (value?.length ?? 0) + headerBytes
    return bytes > MAX_MESSAGE_BYTES ? `a message of ${bytes} bytes; Kafka takes about ${MAX_MESSAGE_BYTES}` : undefined
  }

  /**
   * Each send goes to one partition, and its answer is checked: a send to several can resolve although some of it was
   * never sent.
   */
  async produce(messages: readonly Outgoing[]): Promise<void> {
    const byPartition = Array.from({ length: PARTITIONS }, (): Outgoing[] => [])
    for (const message of messages) {
      const place = message.key === null ? message.publishId : message.key
      byPartition[Number.parseInt(sha256(Buffer.from(place)).slice(0, 8), 16) % PARTITIONS]?.push(message)
    }
    for (const [partition, own] of byPartition.entries()) {
      for (const batch of batchesOf(own)) await this.#send(partition, batch)
    }
  }

  async #send(partition: number, messages: readonly Outgoing[]): Promise<void> {
    const [answer, ...others] = await this.#producer.send({
      topic: this.#topic,
      acks: -1,
      messages: messages.map(({ key, value, headers, timestamp, publishId }) => ({
        key,
        value,
        partition,
        headers: headerRecord([...headers, [PUBLISH_HEADER, publishId]]),
        ...(timestamp === undefined ? {} : { timestamp: String(timestamp) }),
      })),
    })
    if (answer?.errorCode !== 0 || answer.partition !== partition || others.length > 0) {
      throw new CommandError(
        EXIT.unreachable,
        `Kafka did not confirm a produce to ${this.#topic}[${partition}]: run the demo again`,
      )
    }
  }

  run(consumer: Consumer): Promise<Running> {
    // A short session, so that a run after a kill need not wait long for its predecessor's partitions.
    const session = { sessionTimeout: 6_000, heartbeatInterval: 1_000 }
    return runKafka(this.#kafka, consumer, {
      topics: [this.#topic],
      group: this.#topic,
      commitEveryMs: 250,
      consumer: session,
    })
  }

  drained(): Promise<void> {
    return until(async () => {
      const ends = await this.#admin.fetchTopicOffsets(this.#topic)
      const [committed] = await this.#admin.fetchOffsets({ groupId: this.#topic, topics: [this.#topic] })
      const offsets = new Map(committed?.partitions.map(({ partition, offset }) => [partition, BigInt(offset)]))
      return ends.every(
        ({ partition, low, high }) => BigInt(high) === BigInt(low) || (offsets.get(partition) ?? -1n) >= BigInt(high),
      )
    })
  }

  /** Reads the dead-letter topic from its beginning, in a group that is deleted afterwards. */
  async deadLetters(): Promise<readonly DeadLetterRow[]> {
    const topic = `${this.#topic}.dead-letter`
    if (!(await this.#admin.listTopics()).includes(topic)) return []
    const ends = new Map(
      (await this.#admin.fetchTopicOffsets(topic)).map(({ partition, high }) => [partition, BigInt(high)]),
    )
    const waitingFor = new Set([...ends].filter(([, end]) => end > 0n).map(([partition]) => partition))
    if (waitingFor.size === 0) return []
    const rows: DeadLetterRow[] = []
    const groupId = `${topic}.reader-${process.pid}-${Date.now()}`
    const consumer = this.#kafka.consumer({ groupId, maxWaitTimeInMs: 200 })
    await consumer.connect()
    await consumer.subscribe({ topic, fromBeginning: true })
    await new Promise<void>((resolve, reject) => {
      consumer
        .run({
          autoCommit: false,
          eachMessage: async ({ partition, message }) => {
            const reason = String(message.headers?.[COPY_HEADER.reason] ?? 'unknown')
            const id = reason === 'no-id' ? null : textOf(message.headers?.[ID_HEADER])
            rows.push({ id, reason, payload_sha256: sha256(message.value ?? Buffer.alloc(0)) })
            if (BigInt(message.offset) + 1n >= (ends.get(partition) ?? 0n)) waitingFor.delete(partition)
            if (waitingFor.size === 0) resolve()
          },
        })
        .catch(reject)
    })
    await consumer.disconnect()
    await this.#admin.deleteGroups([groupId])
    return rows
  }

  async close(): Promise<void> {
    await Promise.allSettled([this.#admin.disconnect(), this.#producer.disconnect()])
  }
}

function batchesOf(messages: readonly Outgoing[]): Outgoing[][] {
  const batches: Outgoing[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const message of messages) {
    const own = (message.value?.length ?? 0) + message.headerBytes + 200
    const last = batches.at(-1)
    if (last === undefined || last.length >= CHUNK || bytes + own > MAX_SEND_BYTES) {
      batches.push([message])
      bytes = own
    } else {
      last.push(message)
      bytes += own
    }
  }
  return batches
}

function textOf(header: Buffer | string | (Buffer | string)[] | undefined): string {
  return String(Array.isArray(header) ? header[0] : (header ?? ''))
}
