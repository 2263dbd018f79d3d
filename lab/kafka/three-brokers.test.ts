import { eventually } from '../../test/kit/eventually.ts'
import { RecordingIntake } from '../../test/kit/recording-intake.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from '@jest/globals'
import type { DeadLetter } from '../../src/internal.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import type { PrivateKafka } from '../../test/kit/servers/private-kafka.ts'
import type { Cluster } from '../../test/kafka/kit.ts'
import { ownCluster } from './own-cluster.ts'

let kafka: PrivateKafka
let cluster: Cluster

ownCluster((made, brokers) => ([cluster, kafka] = [made, brokers]))

const PARTITIONS = [0, 1, 2, 3]
const NODES = [1, 2, 3]

describe('a Kafka source on three brokers', () => {
  it('loses nothing and commits nothing backwards while partitions move between brokers (K1, K2, K9, K14)', async () => {
    const [topic, groupId] = [await cluster.topic(4, { 'min.insync.replicas': '1' }), uniqueName('group')]
    const move = async (partition: number): Promise<void> => {
      const { topics } = await cluster.admin.fetchTopicMetadata({ topics: [topic] })
      const leader = topics[0]?.partitions.find(({ partitionId }) => partitionId === partition)?.leader
      const replicas = NODES.filter((node) => node !== leader)
      const partitionAssignment = [{ partition, replicas }]
      await cluster.admin.alterPartitionReassignments({ topics: [{ topic, partitionAssignment }] })
    }
    const settled = new Set<string>()
    const intake = new RecordingIntake()
    intake.onDeliver = (delivery) => {
      setTimeout(() => {
        if (delivery.settle()) settled.add(delivery.message.position)
      }, Math.random() * 60)
    }
    // Long polls, so that some are under way on one broker while a fetch from another rejoins.
    const consumer = { maxWaitTimeInMs: 2_000, metadataMaxAge: 30_000, heartbeatInterval: 500 }
    await cluster.open({ topics: [topic], group: groupId, consumerConfig: consumer }, intake)

    const moved = new AbortController()
    const sending = (async () => {
      for (let turn = 0; !moved.signal.aborted; turn++) {
        await cluster.send(topic, ['a', 'b', 'c'], turn % PARTITIONS.length).catch(() => {})
        await sleep(15)
      }
    })()
    for (let moves = 0; moves < 24; moves++) {
      await move(moves % PARTITIONS.length).catch(() => {}) // The one before may still be under way.
      await sleep(250 + Math.random() * 300)
    }
    moved.abort()
    await sending
    const ends = (await cluster.admin.fetchTopicOffsets(topic)).toSorted((a, b) => a.partition - b.partition)
    await cluster.untilCommitted(
      groupId,
      topic,
      ends.map(({ high }) => Number(high)),
    )

    const all = ends.flatMap(({ partition, high }) =>
      Array.from({ length: Number(high) }, (_, at) => `${partition}@${at}`),
    )
    expect(all.filter((position) => !settled.has(position))).toEqual([])
    expect(intake.told('group-joined').length).toBeGreaterThan(1)
    for (const offsets of (await cluster.commitHistory(groupId)).values()) {
      const ours = offsets.filter((offset) => offset >= 0) // Below 0 it is kafkajs itself.
      expect(ours).toEqual(ours.toSorted((a, b) => a - b))
    }
  }, 120_000)

  it('counts no dead letter as written that is missing, while a broker dies (P1, P2)', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const dead = await cluster.topic(3)
    const { publisher } = await cluster.open({ topics: [topic], group: groupId, deadLetter: { topic: dead } })
    const deadLetterOf = (value: string): DeadLetter => ({
      message: {
        system: 'kafka',
        destination: topic,
        origin: topic,
        position: '0@0',
        key: Buffer.from(value),
        value: Buffer.from(value),
        headers: {},
      },
      reason: 'fatal',
      parked: false,
      detail: '',
      errorClass: undefined,
      attempts: 1,
      consumer: 'c',
      group: groupId,
    })
    const publish = (value: string): Promise<void> =>
      eventually(() =>
        publisher.deadLetter(deadLetterOf(value)).then(
          () => true,
          () => false,
        ),
      )
    const values = Array.from({ length: 90 }, (_, index) => `letter-${index}`)
    for (const [index, value] of values.entries()) {
      if (index === 30) await kafka.nodes[2]?.kill()
      await publish(value)
    }
    await kafka.nodes[2]?.restart()
    const found = new Set((await cluster.read(dead, values.length)).map(({ value }) => String(value)))
    expect(values.filter((value) => !found.has(value))).toEqual([])
  }, 120_000)
})
