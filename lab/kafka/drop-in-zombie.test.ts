import { eventually } from '../../test/kit/eventually.ts'
import { Watching } from '../../test/kit/recording-intake.ts'
import { afterEach, describe, expect, it } from '@jest/globals'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { PartitionAssigners, type ConsumerConfig, type PartitionAssigner } from 'kafkajs'
import { eachMessage } from '../../adapters/kafkajs/index.ts'
import { defineConsumer } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { gate } from '../../test/kit/rig.ts'
import { startPrivateKafka, type PrivateKafka } from '../../test/kit/servers/private-kafka.ts'
import { Cluster } from '../../test/kafka/kit.ts'
import { body, OwnConsumer, type Payload } from '../../test/kafka/own-consumer.ts'

let kafka: PrivateKafka
let cluster: Cluster
const started: AsyncDisposable[] = []

beforeAllOpen(async (own) => {
  kafka = own(await startPrivateKafka({ brokers: 3 }))
  cluster = own(await Cluster.open(kafka.brokers))
})
afterEach(async () => {
  await Promise.all(started.splice(0).map((one) => one[Symbol.asyncDispose]()))
})

/** Gives partitions out in turn, and the other way round from when the test says so. */
class Turning {
  isTurned = false
  readonly assigner: PartitionAssigner = (config) => {
    const usual = PartitionAssigners.roundRobin(config)
    return {
      ...usual,
      assign: async (group) => {
        const given = await usual.assign(group)
        if (!this.isTurned) return given
        const assignments = given.map(({ memberAssignment }) => memberAssignment).toReversed()
        return given.map((one, index) => ({ ...one, memberAssignment: assignments[index] ?? one.memberAssignment }))
      },
    }
  }
}

describe('the weaker promise of a drop-in function', () => {
  it('a zombie of kafkajs moves the committed offset back (K1), and no effect happens again [T82]', async () => {
    const [topic, groupId] = [await cluster.topic(2), uniqueName('group')]
    const turning = new Turning()
    const store = memoryStore()
    const effects: string[] = []
    const start = async (
      config: Partial<ConsumerConfig>,
      around: () => Promise<void>,
    ): Promise<{ own: OwnConsumer; watching: Watching; stop: () => Promise<unknown> }> => {
      const watching = new Watching()
      const sms = defineConsumer<Payload>({
        name: 'sms',
        id: ({ payload }) => payload.id,
        store,
        handle: ({ payload }) => effects.push(payload.id),
        observe: watching.observe,
      })
      const onMessage = eachMessage(sms, { group: groupId })
      const own = await OwnConsumer.run(cluster, {
        ...config,
        topics: [topic],
        groupId,
        partitionAssigners: [turning.assigner],
        run: {
          autoCommitInterval: 1,
          eachMessage: async (payload) => {
            await onMessage(payload)
            await around()
          },
        },
      })
      started.push(own, onMessage)
      return { own, watching, stop: () => Promise.all([own.stop(), onMessage.stop()]) }
    }
    const held = gate()
    started.push({ [Symbol.asyncDispose]: async () => held.open() })
    // It alone learns about the new partition, in a fetch from another broker: so it joins again while its function runs. Its
    // session must outlast that function, which sends no heartbeats where it is held.
    const zombie = await start({ sessionTimeout: 60_000, rebalanceTimeout: 60_000 }, () => held.opened)
    const other = await start({ metadataMaxAge: 300_000 }, async () => {})
    await eventually(async () => Object.values(zombie.own.assignment).flat().length === 1 && other.own.joins > 0)
    const [partition = -1] = zombie.own.assignment[topic] ?? []
    const ids = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']
    const values = ids.map((id) => body(id))
    await cluster.send(topic, values, partition)
    await eventually(async () => effects.length === 1)

    turning.isTurned = true
    const joins = zombie.own.joins
    await cluster.admin.createPartitions({ topicPartitions: [{ topic, count: 3 }] })
    await eventually(async () => other.own.assignment[topic]?.includes(partition) === true)
    await eventually(async () => zombie.own.joins > joins)
    await eventually(async () => (await cluster.committed(groupId, topic))[partition] === 10)
    expect([effects, other.watching.ended('duplicate')]).toEqual([ids, 1])
    held.open()
    await eventually(async () => {
      const committed = (await cluster.commitHistory(groupId)).get(`${topic}/${partition}`) ?? []
      return committed.slice(committed.indexOf(10)).includes(1)
    })

    await Promise.all([zombie.stop(), other.stop()])
    await cluster.admin.setOffsets({ groupId, topic, partitions: [{ partition, offset: '1' }] })
    const after = await start({}, async () => {})
    await eventually(async () => (await cluster.committed(groupId, topic))[partition] === 10)
    expect(after.watching.ended('duplicate')).toBe(9)
    expect(effects).toEqual(ids)
  }, 120_000)
})
