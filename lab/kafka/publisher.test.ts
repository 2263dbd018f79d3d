import * as platformatic from '@platformatic/kafka'
import { describe, expect, it } from '@jest/globals'
import { Kafka, logLevel } from 'kafkajs'
import { kafkajsClient } from '../../adapters/kafkajs/client.ts'
import type { KafkaClient } from '../../adapters/kafka/client.ts'
import { KafkaConfirmedPublisher } from '../../adapters/kafka/publishing/confirmed-publisher.ts'
import { platformaticClient } from '../../adapters/platformatic-kafka/client.ts'
import { untilResolved } from '../../test/kit/eventually.ts'
import type { PrivateKafka } from '../../test/kit/servers/private-kafka.ts'
import type { Cluster } from '../../test/kafka/kit.ts'
import { ownCluster } from './own-cluster.ts'

let kafka: PrivateKafka
let cluster: Cluster

ownCluster((made, brokers) => ([cluster, kafka] = [made, brokers]))

const PARTITIONS = [0, 1, 2, 3, 4, 5]
const CLIENTS: readonly [name: string, client: () => KafkaClient, mostTimes: number][] = [
  ['kafkajs', () => kafkajsClient(new Kafka({ brokers: kafka.brokers, logLevel: logLevel.NOTHING })), Infinity],
  [
    '@platformatic/kafka',
    () => platformaticClient(platformatic, { clientId: 'lab', bootstrapBrokers: kafka.brokers }),
    1,
  ],
]

/** Publishes to all partitions, some messages at a time, until it is over. */
class Publishing {
  readonly topic: string
  readonly confirmed = new Set<string>()
  readonly refused: string[] = []
  readonly #publisher: KafkaConfirmedPublisher
  #isOver = false
  #lines: Promise<void>[] = []

  constructor(topic: string, publisher: KafkaConfirmedPublisher) {
    this.topic = topic
    this.#publisher = publisher
    this.#lines = PARTITIONS.flatMap((partition) => [0, 1, 2, 3].map((line) => this.#run(partition, line)))
  }

  async until(count: number): Promise<void> {
    const from = this.confirmed.size
    while (this.confirmed.size < from + count) await new Promise(setImmediate)
  }

  async end(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#lines)
    await this.#publisher.close()
  }

  async #run(partition: number, line: number): Promise<void> {
    for (let at = 0; !this.#isOver; at++) {
      const messageId = `${partition}-${line}-${at}`
      await this.#publisher.publish({ topic: this.topic, messageId, value: messageId, partition }).then(
        () => this.confirmed.add(messageId),
        (error: unknown) => this.refused.push(String(error)),
      )
    }
  }
}

async function timesWritten(topic: string): Promise<ReadonlyMap<string, number>> {
  const times = new Map<string, number>()
  await cluster.readAll(topic, ({ headers }) => {
    const id = String(headers?.['message-id'])
    times.set(id, (times.get(id) ?? 0) + 1)
  })
  return times
}

async function leaderOf(topic: string, partition: number): Promise<number> {
  const { topics } = await cluster.admin.fetchTopicMetadata({ topics: [topic] })
  return topics[0]?.partitions.find(({ partitionId }) => partitionId === partition)?.leader ?? -1
}

describe.each(CLIENTS)('confirmedPublisher of %s on three brokers', (_name, client, mostTimes) => {
  it('confirms only what is there, and goes on, while brokers are killed and frozen (P1, P2)', async () => {
    const topic = await cluster.topic(PARTITIONS.length, { 'min.insync.replicas': '2' })
    const publishing = new Publishing(topic, new KafkaConfirmedPublisher(client()))
    await publishing.until(500)
    const killed = kafka.nodes[(await leaderOf(topic, 0)) - 1]
    await killed?.kill()
    await publishing.until(2_000)
    await killed?.restart()
    await publishing.until(500)
    const frozen = kafka.nodes[(await leaderOf(topic, 1)) - 1]
    frozen?.freeze()
    await publishing.until(200)
    frozen?.thaw()
    await publishing.until(1_000)
    await publishing.end()

    const times = await timesWritten(topic)
    expect([...publishing.confirmed].filter((id) => !times.has(id))).toEqual([])
    expect(publishing.refused).toEqual([])
    const most = Math.max(...times.values())
    expect(most).toBeLessThanOrEqual(mostTimes)
  }, 180_000)

  it('refuses in time where too few replicas are left, and says that the message may be there', async () => {
    const topic = await cluster.topic(1, { 'min.insync.replicas': '3' })
    await using publisher = new KafkaConfirmedPublisher(client(), 5_000)
    await publisher.publish({ topic, messageId: 'before', value: 'v' })
    const leader = await leaderOf(topic, 0)
    const killed = kafka.nodes.find((_, at) => at + 1 !== leader)
    await killed?.kill()
    const refusal = publisher.publish({ topic, messageId: 'meanwhile', value: 'v' })
    await expect(refusal).rejects.toMatchObject({
      code: 'BROKER_PUBLISH_REFUSED',
      message: expect.stringContaining('It may be in the topic all the same') as unknown,
    })
    await killed?.restart()
    await untilResolved(() => publisher.publish({ topic, messageId: 'after', value: 'v' }), 30_000)
  }, 120_000)
})
