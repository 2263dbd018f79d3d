import { openedOnce } from '../../test/kit/opened.ts'
import { RecordingIntake } from '../../test/kit/recording-intake.ts'
import { afterEach, describe, expect, it } from '@jest/globals'
import type { Consumer, ConsumerConfig } from 'kafkajs'
import { kafkaSource } from '../../adapters/kafkajs/client.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { startPrivateKafka } from '../../test/kit/servers/private-kafka.ts'
import { failingOn } from '../../test/kafka/failing-assigner.ts'
import { Cluster } from '../../test/kafka/kit.ts'

let cluster: Cluster

openedOnce(Cluster, (made) => (cluster = made))
afterEach(() => cluster.closeSources())

describe('a Kafka source whose consumer dies', () => {
  it('builds a new consumer, is not ready meanwhile, and gets uncommitted messages again', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    await cluster.send(topic, ['a', 'b'])
    const consumer = { partitionAssigners: [failingOn(2)] }
    const { source, intake } = await cluster.open({ topics: [topic], group: groupId, consumerConfig: consumer })
    await intake.untilDelivered(2)
    const [first, second] = intake.deliveries
    first?.settle()
    await intake.untilSettled(1)
    expect(source.health()).toMatchObject({ ready: true, detail: '1 partition' })

    await cluster.admin.createPartitions({ topicPartitions: [{ topic, count: 2 }] })
    await intake.untilTold('connection-lost')
    expect(source.health()).toMatchObject({ ready: false, detail: expect.stringContaining('reconnecting, attempt 1') })
    expect(second?.standing()).toBe('stale')
    expect(second?.settle()).toBe(false)
    await intake.untilTold('rebuilt')
    expect(source.health()).toMatchObject({ ready: true, detail: '2 partitions' })
    await intake.untilDelivered(3)
    expect(intake.positions).toEqual(['0@0', '0@1', '0@1'])
    intake.at('0@1').settle()
    await cluster.untilCommitted(groupId, topic, [2, -1])
  })

  it('can be paused, resumed, stopped and closed in between', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const consumer = { partitionAssigners: [failingOn(2)] }
    const { source, intake } = await cluster.open({ topics: [topic], group: groupId, consumerConfig: consumer })
    await cluster.admin.createPartitions({ topicPartitions: [{ topic, count: 2 }] })
    await intake.untilTold('connection-lost')
    source.pause()
    source.resume()
    await source.stopIntake()
    await source.close()
    expect(source.health()).toMatchObject({ ready: false, detail: 'stopped' })
    const { groups } = await cluster.admin.describeGroups([groupId])
    expect(groups[0]?.members).toEqual([])
  })

  it('joins again when kafkajs fetches on after a join that failed', async () => {
    const [topic, groupId, client] = [await cluster.topic(), uniqueName('group'), cluster.client()]
    let announce: (() => void) | undefined
    const kafka = {
      producer: client.producer.bind(client),
      admin: client.admin.bind(client),
      consumer: (config: ConsumerConfig): Consumer => {
        const consumer = client.consumer(config)
        const on = consumer.on.bind(consumer) as (event: string, listener: () => void) => () => void
        return Object.assign(consumer, {
          on: (event: string, listener: () => void) => {
            if (event === 'consumer.rebalancing') announce = listener
            return on(event, listener)
          },
        })
      },
    }
    const { source } = kafkaSource(kafka, { topics: [topic], group: groupId })
    const intake = RecordingIntake.settling()
    await source.open(intake)
    try {
      await cluster.send(topic, ['a'])
      await cluster.untilCommitted(groupId, topic, [1])
      // kafkajs has reported a rebalance, and its join failed with an error that it ignores: it is a member as before.
      announce?.()
      await intake.until(() => intake.told('group-joined').length === 2)
      await cluster.send(topic, ['b'])
      await cluster.untilCommitted(groupId, topic, [2])
      expect(intake.told('connection-lost')).toEqual([])
      expect(source.health()).toMatchObject({ ready: true, detail: '1 partition' })
    } finally {
      await source.close()
    }
  })

  it('keeps a pause while it builds a new consumer', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const consumer = { partitionAssigners: [failingOn(2)] }
    const { source, intake } = await cluster.open({ topics: [topic], group: groupId, consumerConfig: consumer })
    source.pause()
    await cluster.admin.createPartitions({ topicPartitions: [{ topic, count: 2 }] })
    await intake.untilTold('rebuilt')
    await cluster.send(topic, ['a'])
    const other = await cluster.open({ topics: [topic], group: uniqueName('other') })
    await other.intake.untilDelivered(1)
    expect(intake.positions).toEqual([])
    source.resume()
    await intake.untilDelivered(1)
  })
})

describe('a Kafka source and what the broker no longer has', () => {
  it('continues after deleted messages, and reports exactly which messages it never got', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    await cluster.send(topic, ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
    const before = await cluster.open({ topics: [topic], group: groupId })
    await before.intake.untilDelivered(10)
    for (const position of ['0@0', '0@1', '0@2']) before.intake.at(position).settle()
    await before.source.close()
    await cluster.deleteRecords(topic, '6')

    const { intake } = await cluster.open({ topics: [topic], group: groupId }, RecordingIntake.settling())
    await intake.untilDelivered(4)
    expect(intake.positions).toEqual(['0@6', '0@7', '0@8', '0@9'])
    expect(intake.told('lost-by-retention')).toEqual([`${topic}/0: expected 3, got 6`])
    await cluster.untilCommitted(groupId, topic, [10])
  })

  it('reports the gap while it runs, and never commits backwards', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    await cluster.send(topic, ['0', '1', '2'])
    const { source, intake } = await cluster.open({ topics: [topic], group: groupId }, RecordingIntake.settling())
    await cluster.untilCommitted(groupId, topic, [3])
    source.pause()
    const other = await cluster.open({ topics: [topic], group: uniqueName('other') })
    await cluster.send(topic, ['3', '4', '5', '6'])
    await other.intake.untilDelivered(7)
    await cluster.deleteRecords(topic, '6')
    source.resume()
    await cluster.untilCommitted(groupId, topic, [7])
    expect(intake.told('lost-by-retention')).toEqual([`${topic}/0: expected 3, got 6`])
    expect(intake.positions).toEqual(['0@0', '0@1', '0@2', '0@6'])
  })

  it('reads a topic that was re-created from its beginning', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    await cluster.send(topic, ['a', 'b', 'c', 'd', 'e'])
    const { intake } = await cluster.open({ topics: [topic], group: groupId }, RecordingIntake.settling())
    await cluster.untilCommitted(groupId, topic, [5])
    await cluster.admin.deleteTopics({ topics: [topic] })
    await cluster.admin.createTopics({ waitForLeaders: false, topics: [{ topic, numPartitions: 1 }] })
    await cluster.producer.disconnect()
    await cluster.producer.connect()
    await cluster.send(topic, ['x', 'y'])
    await intake.until(() => intake.deliveries.filter(({ message }) => String(message.value) === 'y').length > 0)
    // The producer may have sent both twice: its metadata were those of the topic that is gone.
    const [end] = await cluster.highs(topic)
    await cluster.untilCommitted(groupId, topic, [Number(end?.high)])
    const again = intake.deliveries.slice(5).map(({ message }) => `${message.position} ${String(message.value)}`)
    expect(again).toEqual(['0@0 x', '0@1 y', '0@2 x', '0@3 y'].slice(0, Number(end?.high)))
  })
})

describe('a Kafka source whose broker is killed', () => {
  it('resumes by itself when the broker is back, and loses nothing', async () => {
    await using kafka = await startPrivateKafka()
    await using own = await Cluster.open(kafka.brokers)
    const [topic, groupId] = [await own.topic(2), uniqueName('group')]
    for (const partition of [0, 1]) await own.send(topic, ['a', 'b'], partition)
    const seen = new Set<string>()
    const intake = new RecordingIntake()
    intake.onDeliver = (delivery) => {
      if (delivery.settle()) seen.add(delivery.message.position)
    }
    // The broker waits for the member it has lost until its session is over.
    const consumer = { sessionTimeout: 2_000, rebalanceTimeout: 2_000 }
    const { source } = await own.open({ topics: [topic], group: groupId, consumerConfig: consumer }, intake)
    await own.untilCommitted(groupId, topic, [2, 2])
    await kafka.kill()
    await intake.until(() => !source.health().ready || intake.told('connection-lost').length > 0)
    await kafka.restart()
    for (const partition of [0, 1]) await own.send(topic, ['c'], partition)
    await own.untilCommitted(groupId, topic, [3, 3])
    expect([...seen].toSorted()).toEqual(['0@0', '0@1', '0@2', '1@0', '1@1', '1@2'])
  }, 90_000)
})
