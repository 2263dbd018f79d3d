import { openedOnce } from '../../test/kit/opened.ts'
import { eventually } from '../../test/kit/eventually.ts'
import { RecordingIntake } from '../../test/kit/recording-intake.ts'
import { describe, expect, it } from '@jest/globals'
import { uniqueName } from '../../test/kit/namespace.ts'
import { Cluster } from '../../test/kafka/kit.ts'

let cluster: Cluster

openedOnce(Cluster, (made) => (cluster = made))

const deliveredOf = (intake: RecordingIntake, topic: string): number =>
  intake.deliveries.filter(({ message }) => message.destination === topic).length

/** By a producer of its own: kafkajs's sends nothing more once one topic that it knows is gone. */
async function send(topic: string, values: readonly string[]): Promise<void> {
  const producer = cluster.client().producer()
  await producer.connect()
  await producer.send({ topic, acks: -1, messages: values.map((value) => ({ value, partition: 0 })) })
  await producer.disconnect()
}

async function gone(topic: string): Promise<void> {
  await cluster.admin.deleteTopics({ topics: [topic] })
  await eventually(async () => !(await cluster.admin.listTopics()).includes(topic))
}

describe('a retry topic that is deleted', () => {
  it('is created again, and the group consumes it again; the source topic is consumed meanwhile', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const retry = `${topic}.${groupId}.retry-1`
    const options = { topics: [topic], group: groupId, retry: { topics: [{ delayMs: 1 }] } }
    const { source, intake } = await cluster.open(options, RecordingIntake.settling())
    await send(topic, ['a'])
    await intake.untilDelivered(1)
    await gone(retry)
    await intake.until(() => intake.told('retry-topic').some((detail) => detail.includes('created again')))
    await send(topic, ['b'])
    await eventually(async () => deliveredOf(intake, topic) === 2)
    await eventually(async () => (await cluster.admin.listTopics()).includes(retry) && source.health().ready)
    await send(retry, ['copy'])
    await eventually(async () => deliveredOf(intake, retry) > 0)
    expect(source.health()).toMatchObject({ ready: true })
  }, 90_000)
})

describe('one of two source topics that is deleted', () => {
  it('is reported, the other topic is consumed, and the topic is consumed from its beginning once it is back', async () => {
    const [kept, deleted, groupId] = [await cluster.topic(), await cluster.topic(), uniqueName('group')]
    await send(deleted, ['old 1', 'old 2'])
    const { source, intake } = await cluster.open(
      { topics: [kept, deleted], group: groupId },
      RecordingIntake.settling(),
    )
    await cluster.untilCommitted(groupId, deleted, [2])
    await gone(deleted)
    await intake.untilTold('topic-missing')
    expect(intake.told('topic-missing')[0]).toContain(`${deleted} does not exist`)
    await send(kept, ['a', 'b'])
    await eventually(async () => deliveredOf(intake, kept) === 2)
    expect(source.health()).toMatchObject({ ready: false, detail: expect.stringContaining(deleted) })
    await cluster.untilCommitted(groupId, kept, [2])

    await cluster.admin.createTopics({ waitForLeaders: false, topics: [{ topic: deleted, numPartitions: 1 }] })
    await intake.untilTold('topic-back')
    await send(deleted, ['new 1', 'new 2', 'new 3'])
    const high = async (): Promise<number> => Number((await cluster.highs(deleted))[0]?.high)
    await eventually(async () => (await high()) >= 3 && deliveredOf(intake, deleted) === 2 + (await high()))
    await eventually(async () => source.health().ready)
    expect(intake.told('topic-missing')).toHaveLength(1)
  }, 90_000)
})

describe('a start while one of two source topics is missing', () => {
  it.each(['earliest', 'latest'] as const)(
    'consumes the other, names the missing one, is not ready, and takes it in when it is there; start: %s',
    async (start) => {
      const [kept, deleted, groupId] = [await cluster.topic(), await cluster.topic(), uniqueName('group')]
      await gone(deleted)
      await send(kept, ['before'])
      const begun = performance.now()
      const { source, intake } = await cluster.open(
        { topics: [deleted, kept], group: groupId, startAt: start },
        RecordingIntake.settling(),
      )
      expect(performance.now() - begun).toBeLessThan(25_000) // Offsets of a missing topic are waited for longer.
      expect(intake.told('topic-missing')).toEqual([expect.stringContaining(`${deleted} does not exist`)])
      await send(kept, ['a', 'b'])
      await cluster.untilCommitted(groupId, kept, [3])
      expect(deliveredOf(intake, kept)).toBe(start === 'latest' ? 2 : 3)
      expect(source.health()).toMatchObject({ ready: false, detail: expect.stringContaining(deleted) })

      await cluster.admin.createTopics({ waitForLeaders: false, topics: [{ topic: deleted, numPartitions: 1 }] })
      await intake.untilTold('topic-back')
      await send(deleted, ['new'])
      await eventually(async () => deliveredOf(intake, deleted) > 0 && source.health().ready)
    },
    90_000,
  )
})
