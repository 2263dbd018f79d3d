import { openedOnce } from '../kit/opened.ts'
import { eventually } from '../kit/eventually.ts'
import { RecordingIntake } from '../kit/recording-intake.ts'
import { describe, expect, it } from '@jest/globals'
import { uniqueName } from '../kit/namespace.ts'
import type { Consumer } from 'kafkajs'
import { clientOfTests } from './client/of-tests.ts'
import { itOnKafkajs } from './client/it-on.ts'
import { Cluster } from './kit.ts'

let cluster: Cluster

openedOnce(Cluster, (made) => (cluster = made))

/** The second if kafkajs has fetched from the new topic before the group joined again. */
const IS_ANOTHER = /0: (expected \d+, the group has nothing committed any more|the message at 4 is another one now)$/

async function create(topic: string): Promise<void> {
  await cluster.admin.createTopics({ waitForLeaders: false, topics: [{ topic, numPartitions: 1 }] })
  await eventually(async () => (await cluster.admin.listTopics()).includes(topic))
  await cluster.producer.disconnect() // It remembers the topic that is gone.
  await cluster.producer.connect()
}

/** As soon as the broker takes the name again, and empty. */
async function createAnew(topic: string): Promise<void> {
  await cluster.admin.deleteTopics({ topics: [topic] })
  const topics = [{ topic, numPartitions: 1 }]
  await eventually(async () => cluster.admin.createTopics({ waitForLeaders: false, topics }).catch(() => false))
  await cluster.producer.disconnect() // It remembers the topic that is gone.
  await cluster.producer.connect()
}

/** Resolves when this many fetches have ended. */
function fetched(consumer: Consumer, times: number): Promise<void> {
  let left = times
  return new Promise((resolve) => {
    const remove = consumer.on('consumer.fetch', () => {
      left--
      if (left > 0) return
      remove()
      resolve()
    })
  })
}

describe('a topic that changes while it is consumed', () => {
  it('deleted: the source is not ready and says so; re-created, it is read whole, however much it holds by then', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    await cluster.send(topic, ['a', 'b', 'c', 'd', 'e'])
    const { source, intake } = await cluster.open({ topics: [topic], group: groupId }, RecordingIntake.settling())
    await cluster.untilCommitted(groupId, topic, [5])

    await cluster.admin.deleteTopics({ topics: [topic] })
    await eventually(async () => !source.health().ready)
    await create(topic)
    await cluster.send(
      topic,
      Array.from({ length: 20 }, (_, index) => `new ${index}`),
    )
    // A producer that meets a leader which is not quite there tries again, and its messages may lie there twice.
    const [{ high } = { high: '0' }] = await cluster.highs(topic)
    await cluster.untilCommitted(groupId, topic, [Number(high)])
    const positions = intake.deliveries.slice(5).map(({ message }) => message.position)
    expect(positions).toEqual(Array.from({ length: Number(high) }, (_, offset) => `0@${offset}`))
    expect(positions.length).toBeGreaterThanOrEqual(20)
    expect(intake.told('truncated')).toEqual([expect.stringMatching(IS_ANOTHER)])
    await eventually(async () => source.health().ready)
  }, 90_000)

  // It waits for what kafkajs commits, and for its fetches.
  itOnKafkajs(
    'deleted and created anew while it is idle, and filled while the group joins again: it is read whole',
    async () => {
      const [topic, groupId, later] = [await cluster.topic(), uniqueName('group'), uniqueName('later')]
      await cluster.send(topic, texts('old', 5))
      const { source, intake, kafkaConsumer } = await cluster.open(
        { topics: [topic, later], group: groupId },
        RecordingIntake.settling(),
      )
      await cluster.untilCommitted(groupId, topic, [5])
      await createAnew(topic)
      // What kafkajs commits when it has not found its position in the log. It may miss the topic first, or join again, where
      // the group has nothing committed any more.
      await eventually(
        async () =>
          (await cluster.committed(groupId, topic))[0] === -2 ||
          intake.told('topic-missing').length > 1 ||
          intake.told('truncated').length > 0,
      )
      source.pause()
      // The first fetch may have begun before the pause.
      await Promise.race([fetched(kafkaConsumer, 2), intake.untilTold('connection-lost')])
      await cluster.send(topic, texts('new', 20))
      await create(later)
      await intake.untilTold('rebuilt')
      source.resume()
      const [{ high } = { high: '0' }] = await cluster.highs(topic)
      await cluster.untilCommitted(groupId, topic, [Number(high)])
      const values = new Set(intake.deliveries.map(({ message }) => String(message.value)))
      expect([...values]).toEqual([...texts('old', 5), ...texts('new', 20)])
      expect(intake.told('truncated')).toEqual([expect.stringMatching(IS_ANOTHER)])
    },
    90_000,
  )

  it('deleted, created anew and refilled beyond the position while its partition is paused: it is read whole', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    await cluster.send(topic, texts('old', 30))
    // Metadata that is old: no other look at the topic is in the way.
    const options = {
      topics: [topic],
      group: groupId,
      maxWatermarkLag: 10,
      consumerConfig: { metadataMaxAge: 300_000 },
    }
    const { intake } = await cluster.open(options)
    await intake.untilTold('partition-paused')
    await cluster.admin.deleteTopics({ topics: [topic] })
    await eventually(async () => !(await cluster.admin.listTopics()).includes(topic))
    await create(topic)
    await cluster.send(topic, texts('new', 50))
    intake.onDeliver = (delivery) => delivery.settle()
    for (const delivery of intake.deliveries) delivery.settle()
    await intake.untilTold('truncated')
    const found = clientOfTests === 'kafkajs' ? /0: the message at 29 is another one now$/ : IS_ANOTHER
    expect(intake.told('truncated')).toEqual([expect.stringMatching(found)])
    const [{ high } = { high: '0' }] = await cluster.highs(topic)
    await cluster.untilCommitted(groupId, topic, [Number(high)])
    const values = new Set(intake.deliveries.map(({ message }) => String(message.value)))
    expect([...values]).toEqual([...texts('old', 30), ...texts('new', 50)])
  }, 90_000)
})

function texts(what: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${what} ${index}`)
}
