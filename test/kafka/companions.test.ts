import { openedOnce } from '../kit/opened.ts'
import { eventually } from '../kit/eventually.ts'
import { RecordingIntake } from '../kit/recording-intake.ts'
import { afterEach, describe, expect, it } from '@jest/globals'
import { PartitionAssigners, type Consumer } from 'kafkajs'
import { kafkajsClient } from '../../adapters/kafkajs/client.ts'
import { AdminClient } from '../../adapters/kafka/admin-client.ts'
import type { KafkaOptions } from '../../adapters/kafkajs/index.ts'
import { resolveKafka } from '../../adapters/kafka/options/resolve.ts'
import { KafkaSource } from '../../adapters/kafka/source.ts'
import { uniqueName } from '../kit/namespace.ts'
import { Cluster, FAST } from './kit.ts'

let cluster: Cluster
const sources: KafkaSource[] = []
const foreign: Consumer[] = []

openedOnce(Cluster, (made) => (cluster = made))
afterEach(async () => {
  await Promise.all([...sources.splice(0), ...foreign.splice(0)].map(leave))
})

const leave = (member: KafkaSource | Consumer): Promise<void> =>
  member instanceof KafkaSource ? member.close() : member.disconnect()

interface Joined {
  readonly source: KafkaSource
  readonly intake: RecordingIntake
}

/** As in a process of its own: no registry of groups sees it. */
async function join(consumerName: string, options: KafkaOptions): Promise<Joined> {
  const client = kafkajsClient(cluster.client())
  const resolved = resolveKafka({
    ...FAST,
    ...options,
    consumerConfig: { ...FAST.consumerConfig, ...options.consumerConfig },
  })
  const parts = {
    client,
    adminClient: new AdminClient(client),
    options: resolved,
    consumerName,
    afterClose: async () => {},
  }
  const [source, intake] = [new KafkaSource(parts), new RecordingIntake()]
  sources.push(source)
  intake.onDeliver = (delivery) => delivery.settle()
  await source.open(intake)
  return { source, intake }
}

/** A member that knows nothing of this library, or an older version of it. */
async function joinPlainly(groupId: string, topic: string): Promise<void> {
  const consumer = cluster
    .client()
    .consumer({ groupId, sessionTimeout: 6_000, rebalanceTimeout: 6_000, heartbeatInterval: 150, maxWaitTimeInMs: 100 })
  foreign.push(consumer)
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  const joined = new Promise<void>((resolve) => void consumer.on('consumer.group_join', () => resolve()))
  await consumer.run({ eachMessage: async () => {} })
  await joined
}

const partitionsOf = ({ source }: Joined): number => source.health().partitions?.length ?? 0

describe('members of a group in several processes', () => {
  it('of two consumer names are told apart by the leader, once, by both names', async () => {
    const [topic, groupId] = [await cluster.topic(2), uniqueName('group')]
    const [first, second] = [
      await join('sms', { topics: [topic], group: groupId }),
      await join('mail', { topics: [topic], group: groupId }),
    ]
    await eventually(async () => partitionsOf(first) === 1 && partitionsOf(second) === 1)
    const third = await join('sms', { topics: [topic], group: groupId })
    await eventually(async () => [first, second, third].reduce((sum, one) => sum + partitionsOf(one), 0) === 2)
    const told = [first, second, third].flatMap(({ intake }) => intake.told('consumer-name-differs'))
    expect(told).toEqual([
      'the members of the group have "mail" and "sms": each handles a part of the messages. Give each consumer its own group',
    ])
    const leader = [first, second, third].find(({ source }) => source.health().counts?.['consumer-name-differs'] === 1)
    expect(leader?.intake.events).toContainEqual(
      expect.objectContaining({ event: 'consumer-name-differs', isWarning: true }),
    )
  }, 60_000)

  it('of one name are not, and those of plain kafkajs share the partitions with them under any leader', async () => {
    const [topic, led] = [await cluster.topic(3), uniqueName('group')]
    const follower = uniqueName('group')
    const first = await join('sms', { topics: [topic], group: led })
    await joinPlainly(led, topic)
    const second = await join('sms', { topics: [topic], group: led })
    await eventually(async () => partitionsOf(first) === 1 && partitionsOf(second) === 1)
    await joinPlainly(follower, topic)
    const third = await join('sms', { topics: [topic], group: follower })
    await eventually(async () => partitionsOf(third) > 0 && partitionsOf(third) < 3)
    for (const { intake } of [first, second, third]) {
      expect([...intake.told('consumer-name-differs'), ...intake.told('topics-differ')]).toEqual([])
    }
  }, 60_000)

  it('of other topics are told apart', async () => {
    const [topic, other, groupId] = [await cluster.topic(2), await cluster.topic(), uniqueName('group')]
    const first = await join('sms', { topics: [topic], group: groupId })
    const second = await join('sms', { topics: [topic, other], group: groupId })
    await eventually(async () => [first, second].some(({ intake }) => intake.told('topics-differ').length === 1))
    const [detail] = [first, second].flatMap(({ intake }) => intake.told('topics-differ'))
    expect(detail).toContain(`[${topic}]`)
    expect(detail).toContain(`[${[topic, other].toSorted().join(', ')}]`)
  }, 60_000)

  it('tell nothing where the user chose the assigners', async () => {
    const [topic, groupId] = [await cluster.topic(2), uniqueName('group')]
    const options = {
      topics: [topic],
      group: groupId,
      consumerConfig: { partitionAssigners: [PartitionAssigners.roundRobin] },
    }
    const [first, second] = [await join('sms', options), await join('mail', options)]
    await eventually(async () => partitionsOf(first) === 1 && partitionsOf(second) === 1)
    expect([first, second].flatMap(({ intake }) => intake.told('consumer-name-differs'))).toEqual([])
  }, 60_000)
})
