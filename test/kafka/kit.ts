import { eventually } from '../kit/eventually.ts'
import { RecordingIntake } from '../kit/recording-intake.ts'
import {
  Kafka,
  logLevel,
  type Admin,
  type Consumer,
  type KafkaConfig,
  type KafkaMessage,
  type Message,
  type Producer,
} from 'kafkajs'
import type { AdaptedKafka, KafkaLike, KafkaOptions } from '../../adapters/kafkajs/index.ts'
import { kafkaSource } from '../../adapters/kafkajs/client.ts'
import type { Source } from '../../src/internal.ts'
import { uniqueName } from '../kit/namespace.ts'
import { server } from '../kit/servers/server.ts'
import { Signal } from '../kit/signal.ts'
import { clientOfTests, GROUP_PROTOCOL } from './client/of-tests.ts'

/** Everything as fast as the tests' brokers allow. */
export const FAST: Pick<KafkaOptions, 'commitEveryMs' | 'consumerConfig'> = {
  commitEveryMs: 50,
  consumerConfig: {
    sessionTimeout: 6_000,
    rebalanceTimeout: 6_000,
    heartbeatInterval: 150,
    maxWaitTimeInMs: 100,
    metadataMaxAge: 400,
    ...(GROUP_PROTOCOL === 'consumer' && { groupProtocol: GROUP_PROTOCOL }),
  },
}

/** A broker that gets no CPU for seconds gives its groups up, and takes them again; it learns late of a topic that is made anew. */
const NOT_NOW: ReadonlySet<unknown> = new Set([
  'NOT_COORDINATOR_FOR_GROUP',
  'GROUP_LOAD_IN_PROGRESS',
  'UNKNOWN_TOPIC_OR_PARTITION',
])

/** A cluster as its administrator sees it, with topics that end with the test. */
export class Cluster implements AsyncDisposable {
  readonly brokers: string[]
  readonly admin: Admin
  readonly producer: Producer
  readonly #topics: string[] = []
  readonly #sources: Source[] = []
  #platformaticOf: ((brokers: string[]) => AdaptedKafka) | undefined

  private constructor(brokers: string[]) {
    this.brokers = brokers
    const kafka = this.client()
    this.admin = kafka.admin()
    this.producer = kafka.producer({ metadataMaxAge: 1 }) // A partition it has not heard of is dropped without an error.
  }

  static async open(brokers?: string[]): Promise<Cluster> {
    const cluster = new Cluster(brokers ?? (await server('kafka')).brokers)
    // Its package does not load on Node 20, where programs use this kit too.
    if (clientOfTests !== 'kafkajs') cluster.#platformaticOf = (await import('./client/platformatic.ts')).platformaticOf
    await Promise.all([cluster.admin.connect(), cluster.producer.connect()])
    // A new broker makes the place for the offsets of groups when it is first asked for one, and refuses until it is there.
    await eventually(() => cluster.admin.fetchOffsets({ groupId: 'none' }).then(isSo, isNotSo))
    return cluster
  }

  /** A client of its own: consumers of one group must not share one. */
  client(options: Partial<KafkaConfig> = {}): Kafka {
    const retry = { initialRetryTime: 50, retries: 5 }
    return new Kafka({ brokers: this.brokers, logLevel: logLevel.NOTHING, retry, ...options })
  }

  /** A client of its own for a consumer of the library, of the kind that the tests run with. */
  kafka(): KafkaLike | AdaptedKafka {
    return this.#platformaticOf?.(this.brokers) ?? this.client()
  }

  async topic(numPartitions = 1, config: Readonly<Record<string, string>> = {}): Promise<string> {
    const topic = uniqueName('kafkajs')
    const configEntries = Object.entries(config).map(([name, value]) => ({ name, value }))
    await this.admin.createTopics({ waitForLeaders: false, topics: [{ topic, numPartitions, configEntries }] })
    // kafkajs fails with a TypeError while it has no metadata at all.
    const names = (): Promise<readonly string[]> => this.admin.listTopics().catch(() => [])
    await eventually(async () => (await names()).includes(topic))
    this.#topics.push(topic)
    return topic
  }

  /** Deletes what is before this offset of partition 0. */
  async deleteRecords(topic: string, offset: string): Promise<void> {
    // Else kafkajs may not know the leader: it looks for it before it asks for the metadata of the topic.
    await this.admin.fetchTopicMetadata({ topics: [topic] })
    await this.admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset }] })
  }

  /** A source that is closed with the test, opened on an intake. */
  async open(options: KafkaOptions, intake: RecordingIntake = new RecordingIntake()): Promise<Opened> {
    const client = this.kafka()
    let kafkaConsumer: Consumer | undefined
    if (client instanceof Kafka) {
      const makeConsumer = client.consumer.bind(client)
      client.consumer = (config) => (kafkaConsumer = makeConsumer(config))
    }
    const broker = kafkaSource(client, {
      ...FAST,
      ...options,
      consumerConfig: { ...FAST.consumerConfig, ...options.consumerConfig },
    })
    this.#sources.push(broker.source)
    await broker.source.open(intake)
    return {
      ...broker,
      intake,
      get kafkaConsumer() {
        if (kafkaConsumer === undefined) throw new Error('the source has opened without a consumer of kafkajs')
        return kafkaConsumer
      },
    }
  }

  async send(topic: string, values: readonly (string | Message)[], partition = 0): Promise<void> {
    const messages = values.map((value) => (typeof value === 'string' ? { value, partition } : { partition, ...value }))
    const answers = await this.producer.send({ topic, messages, acks: -1 })
    if (answers.length !== 1) throw new Error(`kafkajs sent nothing to ${topic}/${partition}`)
  }

  /** What the group has committed, by partition; -1 for nothing. */
  async committed(groupId: string, topic: string): Promise<readonly number[]> {
    let answer: { readonly partitions: readonly { readonly partition: number; readonly offset: string }[] } | undefined
    await eventually(async () => {
      try {
        answer = (await this.admin.fetchOffsets({ groupId, topics: [topic] }))[0]
        return true
      } catch (error) {
        if (!NOT_NOW.has((error as { readonly type?: unknown }).type)) throw error
        return false
      }
    })
    const partitions = answer?.partitions.toSorted((a, b) => a.partition - b.partition) ?? []
    return partitions.map(({ offset }) => Number(offset))
  }

  /** A group of KIP-848 is another kind of group, of which kafkajs knows nothing. */
  async membersOf(group: string): Promise<number> {
    if (GROUP_PROTOCOL === 'classic') return (await this.admin.describeGroups([group])).groups[0]?.members.length ?? 0
    const { membersOfIncremental } = await import('./client/platformatic.ts')
    return membersOfIncremental(this.brokers, group)
  }

  untilCommitted(groupId: string, topic: string, expected: readonly number[]): Promise<void> {
    return eventually(async () => String(await this.committed(groupId, topic)) === String(expected))
  }

  /** Every offset the group ever committed, in order, by `topic/partition`: as the broker's own log has them. */
  async commitHistory(groupId: string): Promise<ReadonlyMap<string, readonly number[]>> {
    const history = new Map<string, number[]>()
    await this.readAll('__consumer_offsets', ({ key, value }) => {
      if (key === null || value === null || key.readInt16BE(0) > 1) return
      const [group, topicAt] = stringAt(key, 2)
      if (group !== groupId) return
      const [topic, partitionAt] = stringAt(key, topicAt)
      const name = `${topic}/${key.readInt32BE(partitionAt)}`
      history.set(name, [...(history.get(name) ?? []), Number(value.readBigInt64BE(2))])
    })
    return history
  }

  /** All messages of a topic, once there are at least `count`. */
  async read(topic: string, count: number): Promise<readonly ReadMessage[]> {
    await eventually(async () => (await this.highs(topic)).reduce((sum, { high }) => sum + Number(high), 0) >= count)
    const messages: ReadMessage[] = []
    await this.readAll(topic, ({ key, value, headers = {} }) => {
      const texts = Object.entries(headers).map(([name, header]) => [name, textOf(header)] as const)
      messages.push({ key, value, headers: Object.fromEntries(texts) })
    })
    return messages
  }

  /** Everything that is in a topic now, each partition in order; with `readUncommitted` also what was aborted. */
  async readAll(
    topic: string,
    onMessage: (message: KafkaMessage, partition: number) => void,
    { readUncommitted = false }: { readonly readUncommitted?: boolean } = {},
  ): Promise<void> {
    const open = new Map<number, bigint>()
    for (const { partition, low, high } of await this.highs(topic)) {
      if (BigInt(high) > BigInt(low)) open.set(partition, BigInt(high))
    }
    if (open.size === 0) return
    const consumer = this.client().consumer({ groupId: uniqueName('reader'), maxWaitTimeInMs: 50, readUncommitted })
    await consumer.subscribe({ topics: [topic], fromBeginning: true })
    const signal = new Signal()
    consumer.on('consumer.end_batch_process', ({ payload: { partition, lastOffset } }) => {
      const high = open.get(partition)
      if (high !== undefined && BigInt(lastOffset) + 1n >= high) open.delete(partition)
      signal.notify()
    })
    await consumer.run({
      eachBatch: async ({ batch }) => {
        for (const message of batch.messages) onMessage(message, batch.partition)
      },
    })
    await signal.until(() => open.size === 0)
    // At any other time a kafkajs that has just met another set of brokers freezes the process.
    await new Promise<void>((resolve) => {
      consumer.on('consumer.fetch_start', () => queueMicrotask(() => resolve(consumer.stop())))
    })
    await consumer.disconnect()
  }

  highs(topic: string): ReturnType<Admin['fetchTopicOffsets']> {
    return this.admin.fetchTopicOffsets(topic)
  }

  /** Closes what the test opened. */
  async closeSources(): Promise<void> {
    await Promise.all(this.#sources.splice(0).map((source) => source.close()))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.closeSources()
    await this.admin.deleteTopics({ topics: this.#topics }).catch(() => {})
    await Promise.all([this.admin.disconnect(), this.producer.disconnect()])
  }
}

export interface Opened extends ReturnType<typeof kafkaSource> {
  readonly intake: RecordingIntake
  /** The first one inside: to watch it, and to do to it what only kafkajs does. */
  readonly kafkaConsumer: Consumer
}

export interface ReadMessage {
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: Readonly<Record<string, string | readonly string[]>>
}

const isSo = (): boolean => true
const isNotSo = (): boolean => false

function textOf(header: unknown): string | readonly string[] {
  return Array.isArray(header) ? header.map(String) : String(header)
}

/** A text with its length before it, and where the next field begins. */
function stringAt(bytes: Buffer, at: number): readonly [text: string, next: number] {
  const end = at + 2 + bytes.readInt16BE(at)
  return [bytes.toString('utf8', at + 2, end), end]
}
