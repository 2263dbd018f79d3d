import { eventually } from '../../test/kit/eventually.ts'
import { RecordingIntake } from '../../test/kit/recording-intake.ts'
import { describe, expect, it } from '@jest/globals'
import { kafkaSource } from '../../adapters/kafkajs/client.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import type { PrivateKafka } from '../../test/kit/servers/private-kafka.ts'
import { FAST, type Cluster } from '../../test/kafka/kit.ts'
import { platformaticOf } from '../../test/kafka/client/platformatic.ts'
import { ownCluster } from './own-cluster.ts'

let kafka: PrivateKafka
let cluster: Cluster

ownCluster((made, brokers) => ([cluster, kafka] = [made, brokers]))

describe('a first start while a partition has no leader', () => {
  it('waits for a leader, because brokers answer', async () => {
    const [topic, groupId] = [uniqueName('leaderless'), uniqueName('group')]
    const only = kafka.nodes[2]
    const replicaAssignment = [{ partition: 0, replicas: [3] }]
    await cluster.admin.createTopics({ waitForLeaders: false, topics: [{ topic, replicaAssignment }] })
    await eventually(async () => (await cluster.admin.listTopics()).includes(topic))
    await cluster.send(topic, ['a'])
    await only?.kill()
    await eventually(async () => {
      const told = await cluster.admin.fetchTopicMetadata({ topics: [topic] }).catch((error: unknown) => String(error))
      return typeof told === 'string' && told.includes('leader')
    })
    const intake = new RecordingIntake()
    intake.onDeliver = (delivery) => delivery.settle()
    const { source } = kafkaSource(cluster.client(), {
      ...FAST,
      topics: [topic],
      group: groupId,
      deadLetter: { topic: 'dead' },
    })
    const opening = source.open(intake)
    let end: unknown
    opening.then(
      () => (end = 'open'),
      (error: unknown) => (end = error),
    )
    await new Promise((resolve) => void setTimeout(resolve, 9_000))
    expect(end).toBeUndefined()
    await only?.restart()
    await opening
    await intake.untilDelivered(1)
    await source.close()
  }, 120_000)
})

describe.each([
  ['kafkajs', () => cluster.client()],
  ['@platformatic/kafka', () => platformaticOf(cluster.brokers)],
] as const)('a partition without a leader for a while, with %s', (_, clientOf) => {
  it('is consumed again when it has one', async () => {
    const [topic, group] = [uniqueName('leaderless'), uniqueName('group')]
    const only = kafka.nodes[2]
    const replicaAssignment = [
      { partition: 0, replicas: [1] },
      { partition: 1, replicas: [3] },
    ]
    await cluster.admin.createTopics({ waitForLeaders: false, topics: [{ topic, replicaAssignment }] })
    await eventually(async () => (await cluster.admin.listTopics()).includes(topic))
    const intake = RecordingIntake.settling()
    const { source } = kafkaSource(clientOf(), { ...FAST, topics: [topic], group, deadLetter: { topic: 'dead' } })
    await source.open(intake)
    for (const partition of [0, 1]) await cluster.send(topic, ['a'], partition)
    await intake.untilDelivered(2)
    await only?.kill()
    await eventually(async () => {
      const told = await cluster.admin.fetchTopicMetadata({ topics: [topic] }).catch((error: unknown) => String(error))
      return typeof told === 'string' && told.includes('leader')
    })
    // Long enough to be told that there is no leader.
    await new Promise((resolve) => void setTimeout(resolve, 4_000))
    await only?.restart()
    await eventually(async () =>
      cluster.send(topic, ['b'], 1).then(
        () => true,
        () => false,
      ),
    )
    await intake.until(() => intake.positions.includes('1@1'))
    expect(intake.positions.slice(0, 2).toSorted()).toEqual(['0@0', '1@0'])
    await source.close()
  }, 120_000)
})
