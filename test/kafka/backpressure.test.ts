import { openedOnce } from '../kit/opened.ts'
import { eventually } from '../kit/eventually.ts'
import { RecordingIntake } from '../kit/recording-intake.ts'
import { describe, expect, it } from '@jest/globals'
import { kafkaSource } from '../../adapters/kafkajs/client.ts'
import type { PartitionHealth } from '../../src/index.ts'
import type { Delivery, Source } from '../../src/internal.ts'
import { uniqueName } from '../kit/namespace.ts'
import { itOnClassic } from './client/it-on.ts'
import { Cluster } from './kit.ts'
import { ScriptedKafka } from './scripted.ts'

let cluster: Cluster

openedOnce(Cluster, (made) => (cluster = made))

const numbered = (count: number, size = 1): string[] =>
  Array.from({ length: count }, (_, index) => `${index}`.padEnd(size, '.'))

/** In small record batches: a broker never splits one, however little is asked for. */
async function fill(topic: string, values: readonly string[], partition: number): Promise<void> {
  for (let at = 0; at < values.length; at += 100) await cluster.send(topic, values.slice(at, at + 100), partition)
}

function partitionOf({ message }: Delivery): number {
  return Number(message.position.split('@')[0])
}

function healthOf(source: Source, partition: number): PartitionHealth {
  const health = source.health().partitions?.find(({ name }) => name.endsWith(`/${partition}`))
  if (health === undefined) throw new Error(`partition ${partition} is not assigned: ${source.health().detail}`)
  return health
}

/** Settles all but what lies on partition 0, which is left to the test. */
function stuckOn0(maxInFlight: number): RecordingIntake & { readonly stuck: Delivery[] } {
  const stuck: Delivery[] = []
  const intake = Object.assign(new RecordingIntake(), { stuck })
  intake.capacity = { ...intake.capacity, maxInFlight }
  intake.onDeliver = (delivery) => {
    if (partitionOf(delivery) === 0) stuck.push(delivery)
    else delivery.settle()
  }
  return intake
}

describe('a partition that holds too much', () => {
  it.each([
    ['too many messages', { maxInFlight: 200 }, { size: 1 }],
    ['too many bytes', { maxInFlight: 1_000_000 }, { size: 500, maxBytesInFlight: 100_000 }],
    ['a watermark far behind', { maxInFlight: 1_000_000 }, { size: 1, maxWatermarkLag: 200 }],
  ])(
    'by %s is paused alone: the others flow, and it goes on at half',
    async (_, { maxInFlight }, { size, ...limits }) => {
      const [topic, groupId] = [await cluster.topic(2), uniqueName('group')]
      const consumer = { maxBytesPerPartition: 5_000 } // A batch of kafkajs is what goes beyond a limit at most.
      const intake = stuckOn0(maxInFlight)
      await fill(topic, numbered(3_000, size), 0)
      const { source } = await cluster.open(
        { topics: [topic], group: groupId, consumerConfig: consumer, ...limits },
        intake,
      )
      await intake.untilTold('partition-paused')
      const taken = intake.stuck.length

      await fill(topic, numbered(1_000, size), 1)
      await cluster.untilCommitted(groupId, topic, [0, 1_000])
      expect(intake.stuck.length).toBe(taken)
      expect(taken).toBeLessThan(1_500)
      expect(healthOf(source, 0)).toMatchObject({ watermark: '0', inFlight: taken, lag: 3_000, paused: ['full'] })
      expect(healthOf(source, 0).watermarkAgeMs).toBeGreaterThan(0)
      expect(healthOf(source, 1)).toMatchObject({
        watermark: '1000',
        lag: 0,
        inFlight: 0,
        paused: [],
        watermarkAgeMs: 0,
      })

      for (const delivery of intake.stuck) delivery.settle()
      intake.onDeliver = (delivery) => delivery.settle()
      await cluster.untilCommitted(groupId, topic, [3_000, 1_000])
      expect(intake.told('partition-resumed').length).toBeGreaterThan(0)
      // The broker has the commit before its answer is here.
      await eventually(async () => healthOf(source, 0)?.committedLag === 0)
      expect(healthOf(source, 0)).toMatchObject({ inFlight: 0, bytesInFlight: 0, lag: 0, committedLag: 0 })
    },
  )

  it('by one message that never ends remembers no more than the limit, and the rest of it is done', async () => {
    const [topic, groupId] = [await cluster.topic(1), uniqueName('group')]
    const intake = new RecordingIntake()
    const left: Delivery[] = []
    intake.onDeliver = (delivery) => {
      if (delivery.message.position === '0@0') left.push(delivery)
      else delivery.settle()
    }
    const consumer = { maxBytesPerPartition: 5_000 }
    await fill(topic, numbered(5_000), 0)
    const { source } = await cluster.open(
      { topics: [topic], group: groupId, consumerConfig: consumer, maxWatermarkLag: 1_000 },
      intake,
    )
    await intake.untilTold('partition-paused')
    const taken = intake.deliveries.length
    expect(taken).toBeGreaterThanOrEqual(1_000)
    expect(taken).toBeLessThan(3_000)
    expect(healthOf(source, 0)).toMatchObject({ watermark: '0', inFlight: 1, paused: ['full'] })
    left[0]?.settle()
    await cluster.untilCommitted(groupId, topic, [5_000])
  })

  // By that of KIP-848 kept partitions stay.
  itOnClassic('is full no more after a rebalance: its new epoch begins empty', async () => {
    const [topic, groupId] = [await cluster.topic(1), uniqueName('group')]
    const consumer = { maxBytesPerPartition: 5_000 }
    const intake = stuckOn0(100)
    await fill(topic, numbered(2_000), 0)
    const { source } = await cluster.open({ topics: [topic], group: groupId, consumerConfig: consumer }, intake)
    await intake.untilTold('partition-paused')
    const before = intake.stuck.length
    const joins = intake.told('group-joined').length
    // A partition more makes every member join again.
    await cluster.admin.createPartitions({ topicPartitions: [{ topic, count: 2 }] })
    await intake.until(() => intake.told('group-joined').length > joins)
    await intake.untilTold('partition-paused', 2)
    expect(intake.stuck.length).toBeGreaterThan(before)
    expect(intake.stuck.slice(0, before).every((delivery) => delivery.standing() === 'stale')).toBe(true)
    for (const delivery of intake.stuck) delivery.settle()
    intake.onDeliver = (delivery) => delivery.settle()
    await eventually(async () => (await cluster.committed(groupId, topic))[0] === 2_000)
    expect(healthOf(source, 0)).toMatchObject({ inFlight: 0, paused: [] })
  })
})

describe('what kafkajs does after a batch', () => {
  it('is done when the claims of that batch have left', async () => {
    const kafka = new ScriptedKafka()
    kafka.topics.push('t')
    kafka.bounds.set('t/0', { low: 0n, high: 100n })
    const { source } = kafkaSource(kafka, { topics: ['t'], group: uniqueName('group') })
    const intake = new RecordingIntake()
    let haveLeft = false
    // As the pipeline claims: in the next turn of the event loop.
    intake.onDeliver = () => setImmediate(() => (haveLeft = true))
    await source.open(intake)
    await kafka.newest.fetch('t/0', 0, [0])
    const hadLeft = haveLeft
    await source.close()
    expect(hadLeft).toBe(true)
  })
})
