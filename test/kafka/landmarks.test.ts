import { eventually } from '../kit/eventually.ts'
import { openedOnce } from '../kit/opened.ts'
import { RecordingIntake } from '../kit/recording-intake.ts'
import { describe, expect, it } from '@jest/globals'
import { kafkaSource } from '../../adapters/kafkajs/client.ts'
import { uniqueName } from '../kit/namespace.ts'
import { itOnKafkajs } from './client/it-on.ts'
import { Cluster, FAST } from './kit.ts'

let cluster: Cluster
/** The broker deletes what is older than its retention. */
const NOW = Date.now()

openedOnce(Cluster, (made) => (cluster = made))

async function metadataOf(groupId: string, topic: string): Promise<string | null | undefined> {
  const [answer] = await cluster.admin.fetchOffsets({ groupId, topics: [topic] })
  return answer?.partitions[0]?.metadata
}

/** Commits as a member that had seen another log would have, or as another client does. */
async function commit(groupId: string, topic: string, offset: string, metadata: string): Promise<void> {
  const consumer = cluster.client().consumer({ groupId, maxWaitTimeInMs: 50 })
  await consumer.subscribe({ topics: [topic] })
  const joined = new Promise<void>((resolve) => consumer.on('consumer.group_join', () => resolve()))
  await consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch: async () => {} })
  await joined
  await consumer.commitOffsets([{ topic, partition: 0, offset, metadata }])
  await consumer.disconnect()
}

describe('a commit of the group', () => {
  it('names the last message below it, with its time and the epoch of its leader, and the next member goes on', async () => {
    const [topic, group] = [await cluster.topic(), uniqueName('group')]
    await cluster.send(topic, [
      { value: 'a', timestamp: `${NOW - 1}` },
      { value: 'b', timestamp: `${NOW}` },
    ])
    const first = await cluster.open({ topics: [topic], group }, RecordingIntake.settling())
    await cluster.untilCommitted(group, topic, [2])
    await first.source.close()
    expect(await metadataOf(group, topic)).toBe(`consume-once/1 next=2 last=1 timestamp=${NOW} epoch=0`)

    await cluster.send(topic, ['c', 'd'])
    const second = await cluster.open({ topics: [topic], group }, RecordingIntake.settling())
    await cluster.untilCommitted(group, topic, [4])
    expect(second.intake.positions).toEqual(['0@2', '0@3'])
    const events = ['truncated', 'offset-reset', 'offset-skipped']
    expect(events.flatMap((event) => second.intake.told(event))).toEqual([])
  })

  it('of transactions names the last message before their marker, which is compared across it', async () => {
    const [topic, group] = [await cluster.topic(), uniqueName('group')]
    const producer = cluster.client().producer({ transactionalId: uniqueName('transaction'), maxInFlightRequests: 1 })
    await producer.connect()
    const inTransaction = async (...values: string[]): Promise<void> => {
      const transaction = await producer.transaction()
      await transaction.send({ topic, messages: values.map((value) => ({ value, partition: 0, timestamp: `${NOW}` })) })
      await transaction.commit()
    }
    await inTransaction('a', 'b')
    const first = await cluster.open({ topics: [topic], group }, RecordingIntake.settling())
    await cluster.untilCommitted(group, topic, [3])
    await first.source.close()
    expect(await metadataOf(group, topic)).toBe(`consume-once/1 next=3 last=1 timestamp=${NOW} epoch=0`)
    await inTransaction('c')
    await producer.disconnect()
    const second = await cluster.open({ topics: [topic], group }, RecordingIntake.settling())
    await cluster.untilCommitted(group, topic, [5])
    expect(second.intake.positions).toEqual(['0@3'])
    expect(second.intake.told('truncated')).toEqual([])
  })

  it.each([
    ['names a message that is another one now: tells, and reads the log whole', NOW + 1, ['0@0', '0@1', '0@2']],
    ['names the message that is there: goes on behind it', NOW, ['0@2']],
  ])('that %s', async (_, timestamp, positions) => {
    const [topic, group] = [await cluster.topic(), uniqueName('group')]
    await cluster.send(
      topic,
      ['a', 'b', 'c'].map((value) => ({ value, timestamp: `${NOW}` })),
    )
    await commit(group, topic, '2', `consume-once/1 next=2 last=1 timestamp=${timestamp}`)
    const { intake } = await cluster.open({ topics: [topic], group }, RecordingIntake.settling())
    await cluster.untilCommitted(group, topic, [3])
    expect(intake.positions).toEqual(positions)
    expect(intake.told('truncated').length).toBe(timestamp === NOW ? 0 : 1)
  })

  it('whose message retention has deleted meanwhile resets nothing, and the next member goes on', async () => {
    const [topic, group] = [await cluster.topic(), uniqueName('group')]
    await cluster.send(topic, ['a', 'b'])
    const first = await cluster.open({ topics: [topic], group }, RecordingIntake.settling())
    await cluster.untilCommitted(group, topic, [2])
    await first.source.close()
    await cluster.deleteRecords(topic, '2')
    const second = await cluster.open({ topics: [topic], group }, RecordingIntake.settling())
    await cluster.send(topic, ['c'])
    await cluster.untilCommitted(group, topic, [3])
    expect(second.intake.positions).toEqual(['0@2'])
    expect((await cluster.commitHistory(group)).get(`${topic}/0`)?.some((offset) => offset < 0)).toBe(false)
  })

  // Its admin client is counted.
  itOnKafkajs(
    'is compared once for each partition of a start, with two requests for the ends and the offsets of all',
    async () => {
      const partitions = 6
      const [topic, group] = [await cluster.topic(partitions), uniqueName('group')]
      for (let partition = 0; partition < partitions; partition++) await cluster.send(topic, ['a'], partition)
      const ones = Array.from({ length: partitions }, () => 1)
      const first = await cluster.open({ topics: [topic], group }, RecordingIntake.settling())
      await cluster.untilCommitted(group, topic, ones)
      await first.source.close()
      const asked = { fetchOffsets: 0, fetchTopicOffsets: 0 }
      const client = cluster.client()
      const makeAdmin = client.admin.bind(client)
      client.admin = (config) => {
        const admin = makeAdmin(config)
        const fetchOffsets = admin.fetchOffsets.bind(admin)
        const fetchTopicOffsets = admin.fetchTopicOffsets.bind(admin)
        admin.fetchOffsets = (options) => {
          asked.fetchOffsets++
          return fetchOffsets(options)
        }
        admin.fetchTopicOffsets = (of) => {
          asked.fetchTopicOffsets++
          return fetchTopicOffsets(of)
        }
        return admin
      }
      const { source } = kafkaSource(client, { ...FAST, topics: [topic], group })
      const intake = RecordingIntake.settling()
      await source.open(intake)
      await eventually(async () => source.health().partitions?.every(({ watermark }) => watermark === '1') === true)
      expect([intake.deliveries, asked.fetchTopicOffsets]).toEqual([[], 1])
      expect(asked.fetchOffsets).toBeLessThanOrEqual(3) // One of them before the join; the first may be repeated.
      await source.close()
    },
  )
})
