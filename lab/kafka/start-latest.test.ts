import { openedOnce } from '../../test/kit/opened.ts'
import { eventually } from '../../test/kit/eventually.ts'
import { RecordingIntake } from '../../test/kit/recording-intake.ts'
import { afterEach, describe, expect, it } from '@jest/globals'
import { type KafkaOptions } from '../../adapters/kafkajs/index.ts'
import { kafkaSource } from '../../adapters/kafkajs/client.ts'
import type { Source } from '../../src/internal.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { startPrivateKafka } from '../../test/kit/servers/private-kafka.ts'
import { Cluster } from '../../test/kafka/kit.ts'
import { ScriptedKafka } from '../../test/kafka/scripted.ts'

let cluster: Cluster
const scripted: Source[] = []

openedOnce(Cluster, (made) => (cluster = made))
afterEach(async () => {
  await Promise.all(scripted.splice(0).map((source) => source.close()))
  await cluster.closeSources()
})

function latest(topic: string, groupId: string): KafkaOptions {
  return { topics: [topic], group: groupId, startAt: 'latest' }
}

function valuesOf(...intakes: readonly RecordingIntake[]): readonly string[] {
  return intakes.flatMap(({ deliveries }) => deliveries.map(({ message }) => String(message.value))).toSorted()
}

/** As kafkajs does by itself after OFFSET_OUT_OF_RANGE. */
async function commitReset(topic: string, groupId: string): Promise<void> {
  const consumer = cluster.client().consumer({ groupId, maxWaitTimeInMs: 50 })
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  await new Promise<void>((resolve, reject) => {
    void consumer.run({
      autoCommit: false,
      eachBatch: async (payload) => {
        const partitions = [{ partition: payload.batch.partition, offset: '-2' }]
        await payload.commitOffsetsIfNecessary({ topics: [{ topic, partitions }] }).then(resolve, reject)
      },
    })
  })
  await consumer.disconnect()
}

describe("a group that starts at 'latest'", () => {
  it('begins at the ends as they were, commits them before it is open, and gets all that follows', async () => {
    const [topic, groupId] = [await cluster.topic(3), uniqueName('group')]
    await cluster.send(topic, ['old', 'older'])
    await cluster.send(topic, ['old'], 1)
    const { intake } = await cluster.open(latest(topic, groupId), RecordingIntake.settling())
    expect(await cluster.committed(groupId, topic)).toEqual([2, 1, 0])
    expect(intake.told('started-at-end').toSorted()).toEqual([`${topic}/0: 2`, `${topic}/1: 1`, `${topic}/2: 0`])
    for (const partition of [0, 1, 2]) await cluster.send(topic, [`new ${partition}`], partition)
    await cluster.untilCommitted(groupId, topic, [3, 2, 1])
    expect(valuesOf(intake)).toEqual(['new 0', 'new 1', 'new 2'])
    expect(intake.told('offset-reset')).toEqual([])
    expect(intake.told('offset-skipped')).toEqual([])
  })

  it('continues at its committed offset at every later start', async () => {
    const [topic, groupId] = [await cluster.topic(2), uniqueName('group')]
    await cluster.send(topic, ['old'])
    const first = await cluster.open(latest(topic, groupId), RecordingIntake.settling())
    await first.source.close()
    await cluster.send(topic, ['meanwhile'])
    await cluster.send(topic, ['meanwhile too'], 1)
    const second = await cluster.open(latest(topic, groupId), RecordingIntake.settling())
    await second.intake.untilDelivered(2)
    expect(valuesOf(second.intake)).toEqual(['meanwhile', 'meanwhile too'])
    expect(second.intake.told('started-at-end')).toEqual([])
  })

  it('reads a partition that is added later from its beginning', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    await cluster.send(topic, ['old'])
    const { source, intake } = await cluster.open(latest(topic, groupId), RecordingIntake.settling())
    await source.stopIntake()
    await source.close()
    await cluster.admin.createPartitions({ topicPartitions: [{ topic, count: 2 }] })
    await cluster.producer.disconnect()
    await cluster.producer.connect()
    await cluster.send(topic, ['first of the added'], 1)
    const later = await cluster.open(latest(topic, groupId), RecordingIntake.settling())
    await later.intake.untilDelivered(1)
    // Twice at most by a retry of the producer, or by a rebalance before the commit: both are at least once, as promised here.
    expect(new Set(valuesOf(later.intake))).toEqual(new Set(['first of the added']))
    expect(intake.positions).toEqual([])
  })

  it.each([
    ['where it has an offset in one partition', '1', [1, 2]],
    ['where kafkajs has reset it', undefined, [2, 2]],
  ] as const)('is no new group %s: what it never read comes', async (_what, offset, ends) => {
    const [topic, groupId] = [await cluster.topic(2), uniqueName('group')]
    await cluster.send(topic, ['a'])
    if (offset === undefined) {
      await commitReset(topic, groupId)
      await cluster.send(topic, ['b'])
    } else {
      await cluster.admin.setOffsets({ groupId, topic, partitions: [{ partition: 0, offset }] })
    }
    await cluster.send(topic, ['c', 'd'], 1)
    const { intake } = await cluster.open(latest(topic, groupId), RecordingIntake.settling())
    await cluster.untilCommitted(groupId, topic, ends)
    expect(valuesOf(intake)).toEqual(offset === undefined ? ['a', 'b', 'c', 'd'] : ['c', 'd'])
    expect(intake.told('started-at-end')).toEqual([])
  })

  it('begins its retry topics at their beginning', async () => {
    const [topic, retry, groupId] = [await cluster.topic(), await cluster.topic(), uniqueName('group')]
    await cluster.send(topic, ['old'])
    await cluster.send(retry, ['waiting'])
    const options = { ...latest(topic, groupId), retry: { topics: [{ delayMs: 1, topic: retry }] } }
    const { intake } = await cluster.open(options, RecordingIntake.settling())
    await intake.untilDelivered(1)
    expect(valuesOf(intake)).toEqual(['waiting'])
  })

  it('of members that start at once gets all that is sent once one of them is open, and nothing from before', async () => {
    for (let round = 0; round < 4; round++) {
      const [topic, groupId] = [await cluster.topic(4), uniqueName('group')]
      const partitions = [0, 1, 2, 3]
      for (const partition of partitions) await cluster.send(topic, ['old', 'old'], partition)
      const intakes = [RecordingIntake.settling(), RecordingIntake.settling(), RecordingIntake.settling()]
      const opening = intakes.map((intake) => cluster.open(latest(topic, groupId), intake))
      await Promise.race(opening)
      for (const partition of partitions) await cluster.send(topic, [`new ${partition}`], partition)
      await Promise.all(opening)
      await cluster.untilCommitted(groupId, topic, [3, 3, 3, 3])
      const handled = new Set(valuesOf(...intakes))
      expect([...handled]).toEqual(['new 0', 'new 1', 'new 2', 'new 3'])
      await cluster.closeSources()
    }
  }, 90_000)

  it('is the first group of its cluster too, where no coordinator is there yet', async () => {
    await using kafka = await startPrivateKafka()
    await using own = await Cluster.open(kafka.brokers)
    const [topic, groupId] = [await own.topic(), uniqueName('group')]
    await own.send(topic, ['old'])
    const { intake } = await own.open(latest(topic, groupId), RecordingIntake.settling())
    await own.send(topic, ['new'])
    await own.untilCommitted(groupId, topic, [2])
    expect(valuesOf(intake)).toEqual(['new'])
  }, 60_000)

  it('begins a topic that is re-created meanwhile at its beginning, also where another partition has no start yet', async () => {
    const kafka = new ScriptedKafka()
    kafka.topics.push('t')
    for (const name of ['t/0', 't/1']) {
      kafka.committed.set(name, -1n)
      kafka.bounds.set(name, { low: 0n, high: 5n })
    }
    const { source } = kafkaSource(kafka, { ...latest('t', uniqueName('group')), commitEveryMs: 1 })
    scripted.push(source)
    const intake = new RecordingIntake()
    kafka.onRun = (consumer) => consumer.join({ t: [1] })
    const opening = source.open(intake).catch(() => {})
    await eventually(async () => kafka.consumers.length === 1)
    // Another member commits the start of its partition; the commit of ours is not confirmed.
    kafka.committed.set('t/0', 5n)
    const { committed: asked } = kafka.asked
    await eventually(async () => kafka.asked.committed >= asked + 2)
    kafka.committed.set('t/0', -1n)
    kafka.newest.join({ t: [0, 1] })
    await kafka.newest.fetch('t/0', 0, [0])
    expect(intake.positions).toEqual(['0@0'])
    await source.close()
    await opening
  })

  it('handles nothing before its start is committed, whatever kafkajs fetches', async () => {
    const kafka = new ScriptedKafka()
    kafka.topics.push('t')
    kafka.committed.set('t/0', -1n)
    kafka.bounds.set('t/0', { low: 0n, high: 5n })
    const { source } = kafkaSource(kafka, { ...latest('t', uniqueName('group')), commitEveryMs: 1 })
    scripted.push(source)
    const intake = new RecordingIntake()
    let accept: (() => void) | undefined
    const accepted = new Promise<void>((resolve) => {
      accept = resolve
    })
    let commits = 0
    const commit = (): Promise<void> => {
      commits++
      return accepted
    }
    kafka.onRun = (consumer) => {
      Object.assign(consumer, { onCommit: commit, commitOffsets: commit })
      consumer.join({ t: [0] })
    }
    const opening = source.open(intake)
    await eventually(async () => commits === 1)
    const consumer = kafka.newest
    await consumer.fetch('t/0', 0, [0, 1, 2, 3, 4])
    await consumer.fetch('t/0', 5, [5])
    expect(intake.positions).toEqual([])
    expect(new Set(consumer.seeks)).toEqual(new Set(['t/0@5']))
    accept?.()
    kafka.committed.set('t/0', 5n)
    await opening
    await eventually(async () => {
      await consumer.fetch('t/0', 5, [5, 6])
      return intake.positions.length > 0
    })
    expect(intake.positions).toEqual(['0@5', '0@6'])
    for (const event of ['offset-reset', 'offset-skipped']) expect(intake.told(event)).toEqual([])
  })
})
