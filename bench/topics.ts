import { Kafka, logLevel, type Admin, type Message, type Producer } from 'kafkajs'
import { eventually } from './eventually.ts'
import { ID_HEADER } from './tally.ts'

/** Where messages 0, 1, 2, ... of a topic go. */
export interface TopicPlan {
  readonly partitions: number
  readonly partitionOf: (index: number) => number
  /** How many keys there are; a key stays in one partition if the plan wants it to. */
  readonly keys: number
}

/** Evenly over four partitions; a key stays in its partition. */
export const FOUR_PARTITIONS: TopicPlan = { partitions: 4, partitionOf: (index) => index % 4, keys: 10_000 }

/** Seven of ten in partition 0, whose first message is message 0; the others over three more partitions. */
export const MOST_IN_ONE: TopicPlan = {
  partitions: 4,
  partitionOf: (index) => Math.max(0, (index % 10) - 6),
  keys: 10_000,
}

const BYTES = 1_024
const PER_SEND = 500

/** Makes and fills the topics of a run, and removes them. */
export class Topics implements AsyncDisposable {
  readonly #admin: Admin
  readonly #producer: Producer

  private constructor(admin: Admin, producer: Producer) {
    this.#admin = admin
    this.#producer = producer
  }

  static async open(brokers: string): Promise<Topics> {
    const kafka = new Kafka({ brokers: brokers.split(','), logLevel: logLevel.NOTHING })
    // A partition that the producer has not heard of is dropped without an error.
    const topics = new Topics(kafka.admin(), kafka.producer({ metadataMaxAge: 1 }))
    await Promise.all([topics.#admin.connect(), topics.#producer.connect()])
    return topics
  }

  /** A topic with so many messages of 1 KB, distinct IDs `0`, `1`, ... in a header. Nothing of it is ever retired. */
  async fill(topic: string, { partitions, partitionOf, keys }: TopicPlan, messages: number): Promise<void> {
    const configEntries = [{ name: 'retention.ms', value: '-1' }]
    await this.#admin.createTopics({
      waitForLeaders: false,
      topics: [{ topic, numPartitions: partitions, configEntries }],
    })
    await eventually('the new topic is known', async () => (await this.#admin.listTopics()).includes(topic))
    const indices = Array.from({ length: partitions }, (): number[] => [])
    for (let index = 0; index < messages; index++) indices[partitionOf(index)]?.push(index)
    const messageOf = (index: number, partition: number): Message => {
      const headers = { [ID_HEADER]: `${index}` }
      return { partition, key: `key-${index % keys}`, value: valueOf(index), headers }
    }
    const fillPartition = async (own: readonly number[], partition: number): Promise<void> => {
      for (let at = 0; at < own.length; at += PER_SEND) {
        const batch = own.slice(at, at + PER_SEND).map((index) => messageOf(index, partition))
        // One partition in each request: kafkajs forgets others when it tries again.
        await this.#producer.send({ topic, acks: -1, messages: batch })
      }
    }
    await Promise.all(indices.map(fillPartition))
    const offsets = await this.#admin.fetchTopicOffsets(topic)
    const stored = offsets.reduce((sum, { high }) => sum + Number(high), 0)
    if (stored !== messages) throw new Error(`${topic}: expected ${messages} messages, got ${stored}`)
  }

  /** With the places that a contender made for what it cannot handle. */
  async remove(topics: readonly string[]): Promise<void> {
    const all = await this.#admin.listTopics()
    const ours = all.filter((name) => topics.some((topic) => name === topic || name.startsWith(`${topic}.`)))
    await this.#admin.deleteTopics({ topics: ours })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#admin.disconnect(), this.#producer.disconnect()])
  }
}

function valueOf(index: number): string {
  const start = `{"notificationId":${index},"to":"+10000000000","text":"`
  return `${start.padEnd(BYTES - 2, 'x')}"}`
}
