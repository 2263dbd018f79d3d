import { afterEach, describe, expect, it } from '@jest/globals'
import { PartitionLanes } from '../../adapters/kafka/membership/partition-lanes.ts'
import { openedOnce } from '../kit/opened.ts'
import { uniqueName } from '../kit/namespace.ts'
import { Cluster } from './kit.ts'

let cluster: Cluster

openedOnce(Cluster, (made) => (cluster = made))
afterEach(() => cluster.closeSources())

describe('a Kafka source', () => {
  it('delivers messages as they are, with lane, position and origin [T108]', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const sentAt = Date.now() - 60_000 // Not longer ago than the broker keeps messages: it counts from here.
    await cluster.send(topic, [
      { key: 'k', value: 'v', headers: { h: 'x', twice: ['a', 'b'], toString: 's', ['__proto__']: 'p' } },
      { key: null, value: null, headers: { 'consume-once-origin-topic': 'elsewhere' }, timestamp: String(sentAt) },
      { key: Buffer.from([0xff, 0x2f]), value: '', headers: { 'consume-once-origin-topic': 'no topic!' } },
    ])
    const { intake } = await cluster.open({ topics: [topic], group: groupId })
    await intake.untilDelivered(3)
    const [first, second, third] = intake.deliveries

    expect(first?.message).toMatchObject({
      system: 'kafka',
      destination: topic,
      origin: topic,
      position: '0@0',
      key: Buffer.from('k'),
      value: Buffer.from('v'),
    })
    const lanes = new PartitionLanes(`${topic}/0`)
    expect(first?.lane).toBe(lanes.of(Buffer.from('k'), 'key'))
    const { headers = {} } = first?.message ?? {}
    expect(Object.getPrototypeOf(headers)).toBeNull()
    expect(Object.keys(headers).toSorted()).toEqual(['__proto__', 'h', 'toString', 'twice'])
    expect(String(headers['h'])).toBe('x')
    expect(String(headers['toString'])).toBe('s')
    expect(String(headers['__proto__'])).toBe('p')
    expect(headers['twice']).toEqual([Buffer.from('a'), Buffer.from('b')])
    expect(second?.message).toMatchObject({ origin: 'elsewhere', key: null, value: null, timestamp: sentAt })
    expect(second?.lane).toBeUndefined()
    expect(third?.message.origin).toBe(topic)
    expect(third?.lane).toBe(lanes.of(Buffer.from([0xff, 0x2f]), 'key'))
  })

  it.each([
    ['partition', (topic: string) => `${topic}/0`],
    ['none', () => undefined],
  ] as const)('orders by %s', async (order, lane) => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    await cluster.send(topic, [{ key: 'k', value: 'v' }])
    const { intake } = await cluster.open({ topics: [topic], group: groupId, order })
    await intake.untilDelivered(1)
    expect(intake.deliveries[0]?.lane).toBe(lane(topic))
  })

  it('commits the lowest unfinished offset, in whatever order messages finish', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    await cluster.send(topic, ['a', 'b', 'c', 'd', 'e'])
    const { intake } = await cluster.open({ topics: [topic], group: groupId })
    await intake.untilDelivered(5)

    for (const position of ['0@4', '0@0', '0@3', '0@1']) expect(intake.at(position).settle()).toBe(true)
    await intake.untilSettled(2)
    expect(await cluster.committed(groupId, topic)).toEqual([2])
    expect(intake.at('0@2').settle()).toBe(true)
    await intake.untilSettled(5)
    expect(await cluster.committed(groupId, topic)).toEqual([5])
    expect(intake.settled).toBe(5)
  })

  it('gets again after a restart what was not committed, and nothing else', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    await cluster.send(topic, ['a', 'b', 'c'])
    const before = await cluster.open({ topics: [topic], group: groupId })
    await before.intake.untilDelivered(3)
    before.intake.at('0@0').settle()
    before.intake.at('0@2').settle()
    await before.source.close()
    expect(before.intake.at('0@1').settle()).toBe(false)

    const { intake } = await cluster.open({ topics: [topic], group: groupId })
    await intake.untilDelivered(2)
    expect(intake.positions).toEqual(['0@1', '0@2'])
  })

  it('consumes several topics and partitions, each with its own watermark', async () => {
    const [one, two, groupId] = [await cluster.topic(3), await cluster.topic(2), uniqueName('group')]
    for (const partition of [0, 1, 2]) await cluster.send(one, ['x', 'y'], partition)
    for (const partition of [0, 1]) await cluster.send(two, ['x', 'y', 'z'], partition)
    const { intake } = await cluster.open({ topics: [one, two], group: groupId })
    await intake.untilDelivered(12)
    for (const delivery of intake.deliveries) {
      if (delivery.message.position !== '1@1') delivery.settle()
    }
    await cluster.untilCommitted(groupId, one, [2, 1, 2])
    await cluster.untilCommitted(groupId, two, [3, 1])
    expect(intake.deliveries).toHaveLength(12)
  })

  it('steps over transaction markers and aborted messages, so that the lag reaches 0', async () => {
    const [topic, groupId] = [await cluster.topic(2), uniqueName('group')]
    const producer = cluster
      .client()
      .producer({ transactionalId: uniqueName('tx'), idempotent: true, maxInFlightRequests: 1 })
    await producer.connect()
    const transact = async (values: string[], partition: number, end: 'commit' | 'abort'): Promise<void> => {
      const transaction = await producer.transaction()
      await transaction.send({ topic, messages: values.map((value) => ({ value, partition })) })
      await transaction[end]()
    }
    await transact(['a', 'b'], 0, 'commit') // 0 1 [2]
    await transact(['x', 'y'], 0, 'abort') // 3 4 [5]
    await transact(['x'], 1, 'abort') // 0 [1]: this partition never gives a payload
    const { intake } = await cluster.open({ topics: [topic], group: groupId })
    intake.onDeliver = (delivery) => delivery.settle()
    await cluster.untilCommitted(groupId, topic, [6, 2])
    expect(intake.positions).toEqual(['0@0', '0@1'])

    await transact(['z'], 0, 'abort') // 6 [7]
    await cluster.untilCommitted(groupId, topic, [8, 2])
    await transact(['c'], 0, 'commit') // 8 [9]
    await cluster.untilCommitted(groupId, topic, [10, 2])
    expect(intake.positions).toEqual(['0@0', '0@1', '0@8'])
    expect(intake.told('offset-skipped')).toEqual([])
    await producer.disconnect()
  })

  it('commits by itself for a consumer that met aborted messages alone', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const producer = cluster
      .client()
      .producer({ transactionalId: uniqueName('tx'), idempotent: true, maxInFlightRequests: 1 })
    await producer.connect()
    const transaction = await producer.transaction()
    await transaction.send({ topic, messages: [{ value: 'x' }] })
    await transaction.abort()
    const { intake } = await cluster.open({ topics: [topic], group: groupId })
    await cluster.untilCommitted(groupId, topic, [2])
    expect(intake.positions).toEqual([])
    await producer.disconnect()
  })

  it('passes gaps that compaction left', async () => {
    const compacted = {
      'cleanup.policy': 'compact',
      'min.cleanable.dirty.ratio': '0.001',
      'segment.ms': '100',
      'max.compaction.lag.ms': '100',
    }
    const [topic, groupId] = [await cluster.topic(1, compacted), uniqueName('group')]
    for (const value of ['1', '2', '3', '4']) await cluster.send(topic, [{ key: 'same', value }])
    // A new segment begins with a message after segment.ms; only closed segments are cleaned.
    const seen = async (): Promise<string> => {
      await cluster.send(topic, [{ key: 'other', value: 'x' }])
      const { intake, source } = await cluster.open({ topics: [topic], group: uniqueName('look') })
      await intake.untilDelivered(1)
      await source.close()
      return intake.positions[0] ?? ''
    }
    let first = await seen()
    while (first === '0@0') first = await seen()

    const { intake } = await cluster.open({ topics: [topic], group: groupId })
    await intake.untilDelivered(1)
    intake.onDeliver = (delivery) => delivery.settle()
    for (const delivery of intake.deliveries) delivery.settle()
    const [end] = await cluster.admin.fetchTopicOffsets(topic)
    await cluster.untilCommitted(groupId, topic, [Number(end?.high)])
    expect(intake.told('offset-skipped')).toEqual([])
  })

  it('delivers nothing while paused, and goes on where it was', async () => {
    const [topic, groupId] = [await cluster.topic(2), uniqueName('group')]
    const { source, intake } = await cluster.open({ topics: [topic], group: groupId })
    await cluster.send(topic, ['a'])
    await intake.untilDelivered(1)
    source.pause()
    source.pause()
    await cluster.send(topic, ['b', 'c'])
    await cluster.send(topic, ['d'], 1)
    const settledWhilePaused = intake.untilSettled(1)
    intake.at('0@0').settle()
    await settledWhilePaused
    const countWhilePaused = intake.deliveries.length
    source.resume()
    await intake.untilDelivered(4)
    expect(countWhilePaused).toBeLessThanOrEqual(2) // A fetch that was under way may still come.
    expect(intake.positions.toSorted()).toEqual(['0@0', '0@1', '0@2', '1@0'])
  })
})
