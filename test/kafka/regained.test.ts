import { openedOnce } from '../kit/opened.ts'
import { eventually } from '../kit/eventually.ts'
import { RecordingIntake, Watching } from '../kit/recording-intake.ts'
import { afterEach, describe, expect, it } from '@jest/globals'
import { runKafka } from '../../adapters/kafkajs/index.ts'
import { defineConsumer, type Running, type Store } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { uniqueName } from '../kit/namespace.ts'
import { GROUP_PROTOCOL } from './client/of-tests.ts'
import { itOnKafkajs, joinsOf } from './client/it-on.ts'
import { Cluster, FAST } from './kit.ts'

let cluster: Cluster
const started: Running[] = []

openedOnce(Cluster, (made) => (cluster = made))
afterEach(async () => {
  await Promise.all(started.splice(0).map((running) => running.stop({ deadlineMs: 100 })))
  await cluster.closeSources()
})

describe('a partition that is lost and comes back', () => {
  it('while its handler runs: one run, which its copies join, and one settle', async () => {
    const [topic, groupId] = [await cluster.topic(2), uniqueName('group')]
    const store: Store = memoryStore()
    const runs: string[] = []
    const aborted: string[] = []
    let letGo: (() => void) | undefined
    const gate = new Promise<void>((resolve) => (letGo = resolve))
    const run = async (): Promise<{ readonly running: Running; readonly watching: Watching }> => {
      const watching = new Watching()
      const consumer = defineConsumer({
        name: 'sms',
        id: ({ value }) => value ?? undefined,
        store,
        handle: async ({ message, signal }) => {
          runs.push(message.position)
          signal.addEventListener('abort', () => aborted.push(message.position))
          await gate
        },
        observe: watching.observe,
      })
      const running = await runKafka(cluster.kafka(), consumer, { ...FAST, topics: [topic], group: groupId })
      started.push(running)
      return { running, watching }
    }
    for (const partition of [0, 1]) await cluster.send(topic, [`"${partition}-0"`], partition)
    const stays = await run()
    await eventually(async () => runs.length === 2)
    const comes = await run()
    await stays.watching.until(() => joinsOf(stays.watching) === 2)
    await comes.watching.until(() => comes.watching.events.some(({ type }) => type === 'claims')) // It is busy.
    await comes.running.stop()
    await stays.watching.until(() => joinsOf(stays.watching) === 3)
    expect(aborted).toHaveLength(1)

    // What comes behind the copies runs: so they have come.
    for (const partition of [0, 1]) await cluster.send(topic, [`"${partition}-1"`], partition)
    await eventually(async () => runs.length === 4)
    letGo?.()
    await cluster.untilCommitted(groupId, topic, [2, 2])
    expect(runs.toSorted()).toEqual(['0@0', '0@1', '1@0', '1@1'])
    // The copies of the last epoch; those of the one before are refused. What was kept by KIP-848 has none.
    expect(stays.watching.ended('joined')).toBe(GROUP_PROTOCOL === 'classic' ? 2 : 1)
    expect(comes.watching.ended('handled')).toBe(0)
    for (const offsets of (await cluster.commitHistory(groupId)).values()) {
      expect(offsets).toEqual(offsets.toSorted((a, b) => a - b))
    }
  })

  // It keeps seeks for partitions that it has lost.
  itOnKafkajs('is not read from where a seek pointed to that kafkajs has kept meanwhile', async () => {
    const [topic, groupId] = [await cluster.topic(2), uniqueName('group')]
    const { intake, kafkaConsumer } = await cluster.open(
      { topics: [topic], group: groupId },
      RecordingIntake.settling(),
    )
    for (const partition of [0, 1]) await cluster.send(topic, ['a', 'b', 'c'], partition)
    await cluster.untilCommitted(groupId, topic, [3, 3])

    const other = await cluster.open({ topics: [topic], group: groupId }, RecordingIntake.settling())
    await intake.until(() => joinsOf(intake) >= 2)
    const [lost = ''] = other.intake.told('group-joined')
    const partition = Number(lost.split('/')[1])
    kafkaConsumer.seek({ topic, partition, offset: '0' })
    await other.source.close()
    await intake.until(() => joinsOf(intake) >= 3)
    await cluster.send(topic, ['d'], partition)
    await intake.until(() => intake.positions.includes(`${partition}@3`))
    expect(intake.deliveries).toHaveLength(7)
    expect(intake.told('offset-reset')).toEqual([`${topic}/${partition}: expected 3, got 0`])
    await cluster.untilCommitted(groupId, topic, partition === 0 ? [4, 3] : [3, 4])
    for (const offsets of (await cluster.commitHistory(groupId)).values()) {
      expect(offsets).toEqual(offsets.toSorted((a, b) => a - b))
    }
  })
})

describe('a partition in which nothing happens', () => {
  it('while members come and go is consumed when something does', async () => {
    const [topic, groupId] = [await cluster.topic(3), uniqueName('group')]
    const stays = await cluster.open({ topics: [topic], group: groupId }, RecordingIntake.settling())
    for (let round = 1; round <= 2; round++) {
      const comes = await cluster.open({ topics: [topic], group: groupId }, RecordingIntake.settling())
      await stays.intake.until(() => joinsOf(stays.intake) >= 2 * round)
      await comes.source.close()
      await stays.intake.until(() => joinsOf(stays.intake) >= 2 * round + 1)
    }
    expect(await cluster.committed(groupId, topic)).toEqual([-1, -1, -1])
    for (const partition of [0, 1, 2]) await cluster.send(topic, ['a'], partition)
    await cluster.untilCommitted(groupId, topic, [1, 1, 1])
    expect(stays.intake.positions.toSorted()).toEqual(['0@0', '1@0', '2@0'])
  })

  it('until it is added while all run is consumed from its beginning', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const members = [
      await cluster.open({ topics: [topic], group: groupId }, RecordingIntake.settling()),
      await cluster.open({ topics: [topic], group: groupId }, RecordingIntake.settling()),
    ]
    await cluster.admin.createPartitions({ topicPartitions: [{ topic, count: 3 }] })
    for (const partition of [1, 2]) await cluster.send(topic, ['a', 'b'], partition) // Before anybody has joined for them.
    await cluster.untilCommitted(groupId, topic, [-1, 2, 2])
    const positions = members.flatMap(({ intake }) => intake.positions)
    expect([...new Set(positions)].toSorted()).toEqual(['1@0', '1@1', '2@0', '2@1'])
  })
})
