import { Kafka, logLevel, type Admin, type Message, type Producer } from 'kafkajs'
import { uniqueName } from '../../test/support/namespace.ts'
import { eventually } from '../eventually.ts'
import type { Servers } from '../machine.ts'
import { ID_HEADER } from '../tally.ts'
import { payloadOf } from './payload.ts'
import type { Places } from './places.ts'

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

const PER_SEND = 500

/** One topic for all contenders that want as many messages: consuming changes nothing. */
export class Topics implements Places {
  readonly #admin: Admin
  readonly #producer: Producer
  readonly #plan: TopicPlan
  readonly #bySize = new Map<number, string>()

  private constructor(admin: Admin, producer: Producer, plan: TopicPlan) {
    this.#admin = admin
    this.#producer = producer
    this.#plan = plan
  }

  static async open({ kafka: brokers }: Servers, plan: TopicPlan): Promise<Topics> {
    if (brokers === undefined) throw new Error('the scenario must name kafka among what it needs')
    const kafka = new Kafka({ brokers: brokers.split(','), logLevel: logLevel.NOTHING })
    // A partition that the producer has not heard of is dropped without an error.
    const topics = new Topics(kafka.admin(), kafka.producer({ metadataMaxAge: 1 }), plan)
    await Promise.all([topics.#admin.connect(), topics.#producer.connect()])
    return topics
  }

  /** With the IDs in a header. Nothing of it is ever retired. */
  async filled(messages: number): Promise<string> {
    const known = this.#bySize.get(messages)
    if (known !== undefined) return known
    const topic = uniqueName('bench')
    this.#bySize.set(messages, topic)
    await this.#fill(topic, messages)
    return topic
  }

  async #fill(topic: string, messages: number): Promise<void> {
    const { partitions, partitionOf, keys } = this.#plan
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
      return { partition, key: `key-${index % keys}`, value: payloadOf(index), headers }
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
  async [Symbol.asyncDispose](): Promise<void> {
    const filled = [...this.#bySize.values()]
    const all = await this.#admin.listTopics()
    const ours = all.filter((name) => filled.some((topic) => name === topic || name.startsWith(`${topic}.`)))
    if (ours.length > 0) await this.#admin.deleteTopics({ topics: ours })
    await Promise.all([this.#admin.disconnect(), this.#producer.disconnect()])
  }
}
