import { RecordingIntake } from '../../test/kit/recording-intake.ts'
import { describe, expect, it } from '@jest/globals'
import { kafkaSource } from '../../adapters/kafkajs/client.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import type { PrivateKafka } from '../../test/kit/servers/private-kafka.ts'
import { FAST, type Cluster } from '../../test/kafka/kit.ts'
import { ownCluster } from './own-cluster.ts'

let kafka: PrivateKafka
let cluster: Cluster

// As in production: for so long the others do not know that a broker is dead.
ownCluster((made, brokers) => ([cluster, kafka] = [made, brokers]), { 'broker.session.timeout.ms': '9000' })

/** Their coordinators are on all brokers. */
const GROUPS = 6

describe('a first start while one of three brokers dies', () => {
  it('goes on, because the others answer', async () => {
    const topic = await cluster.topic(3, { 'min.insync.replicas': '1' })
    for (const partition of [0, 1, 2]) await cluster.send(topic, ['a'], partition)
    const members = Array.from({ length: GROUPS }, () => {
      const intake = new RecordingIntake()
      intake.onDeliver = (delivery) => delivery.settle()
      const group = uniqueName('group')
      const { source } = kafkaSource(cluster.client(), { ...FAST, topics: [topic], group })
      return { intake, source, opening: source.open(intake) }
    })
    await kafka.nodes[1]?.kill()
    const ends = await Promise.allSettled(members.map(({ opening }) => opening))
    expect(ends.filter(({ status }) => status === 'rejected')).toEqual([])
    await Promise.all(members.map(({ intake }) => intake.untilDelivered(3)))
    await Promise.all(members.map(({ source }) => source.close()))
    await kafka.nodes[1]?.restart()
  }, 120_000)
})
