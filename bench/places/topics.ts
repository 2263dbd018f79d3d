import { Kafka, logLevel, type Admin, type Message, type Producer } from 'kafkajs'
import { uniqueName } from '../../test/kit/namespace.ts'
import { eventually } from '../eventually.ts'
import type { Servers } from '../machine.ts'
import { ID_HEADER } from '../tally.ts'
import type { Deliveries } from './duplicates.ts'
import { payloadOf } from './payload.ts'
import type { Places } from './places.ts'
import type { TopicPlan } from './plans.ts'

const PER_SEND = 500

/** One topic for all contenders: consuming changes nothing. */
export class Topics implements Places {
  readonly #admin: Admin
  readonly #producer: Producer
  readonly #plan: TopicPlan
  #topic: string | undefined

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
  async filled(deliveries: Deliveries): Promise<string> {
    if (this.#topic !== undefined) return this.#topic
    this.#topic = uniqueName('bench')
    await this.#fill(this.#topic, deliveries)
    return this.#topic
  }

  async #fill(topic: string, { messages, idOf }: Deliveries): Promise<void> {
    const { partitions, partitionOf, keys, deadLetters } = this.#plan
    const configEntries = [{ name: 'retention.ms', value: '-1' }]
    await this.#admin.createTopics({
      waitForLeaders: false,
      topics: [
        { topic, numPartitions: partitions, configEntries },
        ...(deadLetters === true ? [{ topic: `${topic}.dead-letter`, numPartitions: 1 }] : []),
      ],
    })
    await eventually('the new topic is known', async () => (await this.#admin.listTopics()).includes(topic))
    const ids = Array.from({ length: partitions }, (): number[] => [])
    for (let index = 0; index < messages; index++) {
      const id = idOf(index)
      ids[partitionOf(id)]?.push(id)
    }
    const messageOf = (id: number, partition: number): Message => {
      const headers = { [ID_HEADER]: `${id}` }
      return { partition, key: `key-${id % keys}`, value: payloadOf(id), headers }
    }
    const fillPartition = async (own: readonly number[], partition: number): Promise<void> => {
      for (let at = 0; at < own.length; at += PER_SEND) {
        const batch = own.slice(at, at + PER_SEND).map((id) => messageOf(id, partition))
        // One partition in each request: kafkajs forgets others when it tries again.
        await this.#producer.send({ topic, acks: -1, messages: batch })
      }
    }
    await Promise.all(ids.map(fillPartition))
    const offsets = await this.#admin.fetchTopicOffsets(topic)
    const stored = offsets.reduce((sum, { high }) => sum + Number(high), 0)
    if (stored !== messages) throw new Error(`${topic}: expected ${messages} messages, got ${stored}`)
  }

  /** With the places that a contender made for what it cannot handle. */
  async [Symbol.asyncDispose](): Promise<void> {
    const topic = this.#topic
    const all = topic === undefined ? [] : await this.#admin.listTopics()
    const ours = all.filter((name) => name === topic || name.startsWith(`${topic}.`))
    if (ours.length > 0) await this.#admin.deleteTopics({ topics: ours })
    await Promise.all([this.#admin.disconnect(), this.#producer.disconnect()])
  }
}
