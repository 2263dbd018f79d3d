import { eventually } from '../../../test/kit/eventually.ts'
import { uniqueName } from '../../../test/kit/namespace.ts'
import { kafkaVersion } from '../../../test/kit/servers/kafka/version.ts'
import { Cluster, type ReadMessage } from '../../../test/kafka/kit.ts'
import type { FaultMessage } from '../message.ts'
import { SESSION_MS } from '../settings.ts'
import { Transactions } from './transactions.ts'
import type { BrokerPlace, BrokerSide, DeadLetter } from './broker-side.ts'

interface KafkaTopicPlace extends BrokerPlace {
  readonly beside: string | undefined
  readonly transactions: Transactions | undefined
  beginAnew(sent: number): void
}

/** The group drops a silent member soon. */
const IN_GROUP = {
  sessionTimeout: SESSION_MS,
  rebalanceTimeout: SESSION_MS,
  heartbeatInterval: 200,
  maxWaitTimeInMs: 100,
} as const

/**
 * Topics have one partition, so the offset of a message is the number of its send, except where producers are transactional. No topic is deleted before the end: a kafkajs
 * producer requests metadata for every topic that it has sent to, and a deleted one makes the whole request fail. So a topic is
 * recreated on a private broker, where the producer connects again, and nothing is ever sent to a second topic.
 */
export async function kafkaSide(brokers: string[]): Promise<BrokerSide> {
  const cluster = await Cluster.open(brokers)
  const [broker = ''] = brokers
  const opened: Transactions[] = []
  return {
    version: `Kafka ${kafkaVersion()}`,
    async newPlace(kind, lateSend): Promise<BrokerPlace> {
      const [topic, groupId] = [await cluster.topic(), uniqueName('faults')]
      const second = kind === 'second topic' ? await cluster.topic() : undefined
      const logs = [{ partition: `${topic}/0`, firstSend: 0 }]
      const logOf = (send: number): Log => logs.findLast(({ firstSend }) => firstSend <= send) ?? logOf(0)
      const transactions =
        lateSend === undefined ? undefined : await Transactions.begin(cluster.client(), topic, lateSend)
      if (transactions !== undefined) opened.push(transactions)
      const offsetOf = (send: number): number =>
        transactions === undefined
          ? send - logOf(send).firstSend
          : (transactions.offsets[send] ?? Number.POSITIVE_INFINITY)
      const place: KafkaTopicPlace = {
        transactions,
        offsetOf,
        beside: kind === 'retry topic' ? `${topic}.${groupId}.retry-1` : second,
        beginAnew: (sent) => void logs.push({ partition: `${topic}~${logs.length}/0`, firstSend: sent }),
        log: () => logOf(Number.POSITIVE_INFINITY),
        group: groupId,
        origin: topic,
        port: Number(broker.split(':')[1]),
        worker: (port) => ({
          kind: 'kafka',
          brokers: [broker],
          port,
          client: { requestTimeout: 2_000, retry: { initialRetryTime: 50, maxRetryTime: 500 } },
          options: {
            topics: [topic, ...(second === undefined ? [] : [second])],
            group: groupId,
            commitEveryMs: 50,
            consumerConfig: IN_GROUP,
            ...(kind === 'retry topic' ? { retry: { topics: [{ delayMs: 200 }] } } : {}),
          },
        }),
        placeOf: (send) => `${logOf(send).partition}@${offsetOf(send)}`,
      }
      return place
    },
    send: (place, message: FaultMessage) =>
      (place as KafkaTopicPlace).transactions?.send(message) ??
      cluster.send(place.origin, [{ key: message.id, value: JSON.stringify(message) }]),
    transactions: {
      commit: async (place) => (place as KafkaTopicPlace).transactions?.commit(),
      end: async (place) => (place as KafkaTopicPlace).transactions?.end(),
    },
    topics: {
      async deleteBeside(place) {
        const { beside } = place as KafkaTopicPlace
        if (beside === undefined) throw new Error('this cell has no topic beside')
        await cluster.admin.deleteTopics({ topics: [beside] })
      },
      async recreate(place, sent) {
        const { admin, producer } = cluster
        await admin.deleteTopics({ topics: [place.origin] })
        await eventually(async () => !(await admin.listTopics()).includes(place.origin))
        await admin.createTopics({ waitForLeaders: false, topics: [{ topic: place.origin, numPartitions: 1 }] })
        await eventually(() => hasLeader(cluster, place.origin))
        await producer.disconnect()
        await producer.connect()
        ;(place as KafkaTopicPlace).beginAnew(sent)
      },
    },
    async isDrained({ group, origin, offsetOf = itself }, sent) {
      // A restarted broker loads its groups first.
      const committed = await cluster.committed(group, origin).catch((): readonly number[] => [])
      return (committed[0] ?? -1) >= offsetOf(sent - 1) + 1
    },
    async left({ group, origin, placeOf, log, offsetOf = itself }, sent, hasDeadLetters) {
      const committed = Math.max(0, (await cluster.committed(group, origin))[0] ?? 0)
      const first = log?.().firstSend ?? 0
      const unsettled = Array.from({ length: sent - first }, (_, index) => first + index)
        .filter((send) => offsetOf(send) >= committed)
        .map(placeOf)
      const deadLetters = hasDeadLetters ? (await readAll(cluster, `${origin}.dead-letter`)).map(deadLetterOf) : []
      return { unsettled, deadLetters }
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(opened.map((transactions) => transactions[Symbol.asyncDispose]()))
      await cluster[Symbol.asyncDispose]()
    },
  }
}

function itself(send: number): number {
  return send
}

type Log = ReturnType<NonNullable<BrokerPlace['log']>>

async function hasLeader(cluster: Cluster, topic: string): Promise<boolean> {
  return cluster.highs(topic).then(
    () => true,
    () => false,
  )
}

/** kafkajs fails with a TypeError while a broker does not answer for a partition yet. */
async function readAll(cluster: Cluster, topic: string): Promise<readonly ReadMessage[]> {
  let found: readonly ReadMessage[] = []
  await eventually(async () => {
    const messages = await cluster.read(topic, 0).catch(() => undefined)
    found = messages ?? []
    return messages !== undefined
  })
  return found
}

function deadLetterOf({ value, headers }: ReadMessage): DeadLetter {
  const { send } = JSON.parse(String(value)) as FaultMessage
  return {
    send,
    isParked: headers['consume-once-parked'] !== undefined,
    reason: String(headers['consume-once-reason']),
  }
}
