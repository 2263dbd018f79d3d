import { describe, expect, it } from '@jest/globals'
import * as platformatic from '@platformatic/kafka'
import { platformaticOf } from '../../test/kafka/client/platformatic.ts'
import { eventually } from '../../test/kit/eventually.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { openedOnce } from '../../test/kit/opened.ts'
import { RecordingIntake } from '../../test/kit/recording-intake.ts'
import { Wire } from '../../adapters/platformatic-kafka/wire/wire.ts'
import { isSupported } from '../../adapters/platformatic-kafka/supported-node.ts'
import { kafkaSource } from '../../adapters/kafkajs/client.ts'
import { Cluster, FAST } from '../../test/kafka/kit.ts'
import { Transactions } from '../../test/kafka/transactions.ts'
import { handled, idIn } from '../../test/platformatic-kafka/handled.ts'

// What @platformatic/kafka 2.12.1 loses or repeats by itself (docs/kafka.md, "Clients"), and that nothing of it reaches a handler
// here. A test that no longer sees a defect says that the client has mended it.

let cluster: Cluster

openedOnce(Cluster, (made) => (cluster = made))

type Bytes = Buffer | undefined
type Bare = platformatic.Consumer
type BareOptions = platformatic.ConsumerOptions<Buffer, Buffer, Buffer, Buffer>

function bare(groupId: string, options: Partial<BareOptions> = {}): Bare {
  return new platformatic.Consumer({ clientId: 'bare', bootstrapBrokers: cluster.brokers, groupId, ...options })
}

/** The name under which members of this library assign too. */
const SHARED = { protocols: [{ name: 'RoundRobinAssigner', version: 0 }] }

/** Nothing tells the member that it was removed before it commits. */
const QUIET = { sessionTimeout: 20_000, rebalanceTimeout: 20_000, heartbeatInterval: 15_000 }

const nothing = (): void => {}

/** As the coordinator does when a session ends. */
async function removeMembers(groupId: string): Promise<void> {
  const wire = new Wire(platformatic, { clientId: 'test', bootstrapBrokers: cluster.brokers })
  const [group] = (await cluster.admin.describeGroups([groupId])).groups
  const members = (group?.members ?? []).map(({ memberId }) => ({
    memberId,
    groupInstanceId: null,
    reason: 'the test',
  }))
  await wire.request('LeaveGroup', await wire.coordinatorOf(groupId), [groupId, members])
  await wire.close()
}

/** What its stream hands over of a topic, from the beginning up to this message. */
async function read(topic: string, last: string, maxBytes?: number): Promise<readonly string[]> {
  const consumer = bare(uniqueName('bare'))
  const stream = await consumer.consume({
    topics: [topic],
    mode: 'earliest',
    autocommit: false,
    maxWaitTime: 50,
    isolationLevel: 1,
    ...(maxBytes !== undefined && { maxBytes }),
  })
  const ids: string[] = []
  for await (const { value } of stream as AsyncIterable<{ readonly value: Bytes }>) {
    ids.push(idIn(value))
    if (ids.at(-1) === last) break
  }
  await consumer.close(true)
  return ids
}

const describeOnItsNode = isSupported(process.versions.node) ? describe : describe.skip

describeOnItsNode('@platformatic/kafka', () => {
  it('C1: hands over an aborted transaction whose marker comes in a later fetch; this library does not', async () => {
    const topic = await cluster.topic()
    await using transactions = await Transactions.open(cluster, topic, 1)
    const aborted = await transactions.begin(0)
    for (const id of ['aborted 1', 'aborted 2', 'aborted 3']) await aborted.send(id)
    await aborted.end('abort')
    const committed = await transactions.begin(0)
    await committed.send('committed')
    await committed.end('commit')
    expect(await read(topic, 'committed', 1)).toEqual(['aborted 1', 'aborted 2', 'aborted 3', 'committed'])
    expect(await handled(cluster, topic, 'committed', 1)).toEqual(['committed'])
  })

  it('C2: hands over the first of two aborted transactions of one producer; this library does not', async () => {
    const topic = await cluster.topic()
    await using transactions = await Transactions.open(cluster, topic, 1)
    for (const id of ['aborted 1', 'aborted 2']) {
      const aborted = await transactions.begin(0)
      await aborted.send(id)
      await aborted.end('abort')
    }
    const committed = await transactions.begin(0)
    await committed.send('committed')
    await committed.end('commit')
    expect(await read(topic, 'committed')).toEqual(['aborted 1', 'committed'])
    expect(await handled(cluster, topic, 'committed')).toEqual(['committed'])
  })

  it('C3: a commit of a member that the group has removed joins again, and moves the offset of its new owner back', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    await cluster.send(
      topic,
      Array.from({ length: 10 }, (_, index) => String(index)),
    )
    const old = bare(groupId, { ...QUIET, ...SHARED })
    old.topics.trackAll(topic)
    await old.joinGroup({})
    await removeMembers(groupId)
    const { source } = kafkaSource(platformaticOf(cluster.brokers), { ...FAST, topics: [topic], group: groupId })
    await source.open(RecordingIntake.settling())
    await cluster.untilCommitted(groupId, topic, [10])
    await old.commit({ offsets: [{ topic, partition: 0, offset: 1n, leaderEpoch: -1 }] })
    expect((await cluster.commitHistory(groupId)).get(`${topic}/0`)).toEqual([10, 1])
    await old.close(true)
    await source.close()
  }, 60_000)

  it('C3: what a member of this library commits after it was removed is refused', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    await cluster.send(topic, ['a', 'b'])
    const client = platformaticOf(cluster.brokers)
    const member = await client.member(
      {
        topics: [topic],
        consumerConfig: { groupId, ...QUIET },
        partitionsConsumedConcurrently: 1,
        companions: undefined,
        report: nothing,
      },
      {
        batch: async () => {},
        controlBatch: nothing,
        joined: nothing,
        changed: nothing,
        revoking: async () => {},
        rebalancing: nothing,
        fetchFailed: nothing,
        turned: nothing,
        lookedAway: nothing,
        halted: nothing,
        ended: nothing,
      },
    )
    await member.start()
    await removeMembers(groupId)
    const { source } = kafkaSource(platformaticOf(cluster.brokers), { ...FAST, topics: [topic], group: groupId })
    await source.open(RecordingIntake.settling())
    await cluster.untilCommitted(groupId, topic, [2])
    const late = member.consumer.commitOffsets([{ topic, partition: 0, offset: '1', metadata: null }])
    await expect(late).rejects.toMatchObject({ type: expect.stringMatching(/UNKNOWN_MEMBER_ID|ILLEGAL_GENERATION/) })
    expect((await cluster.commitHistory(groupId)).get(`${topic}/0`)).toEqual([2])
    await member.stop()
    await source.close()
  }, 90_000)

  it('C4: its stream hands over messages of a partition that another member has by now', async () => {
    const [topic, groupId] = [await cluster.topic(2), uniqueName('group')]
    for (const partition of [0, 1]) {
      await cluster.send(
        topic,
        Array.from({ length: 100 }, (_, index) => `${partition} ${index}`),
        partition,
      )
    }
    const old = bare(groupId, { sessionTimeout: 6_000, rebalanceTimeout: 6_000, heartbeatInterval: 150, ...SHARED })
    const stream = await old.consume({
      topics: [topic],
      mode: 'committed',
      fallbackMode: 'earliest',
      autocommit: false,
      maxWaitTime: 50,
    })
    const messages = stream[Symbol.asyncIterator]()
    await messages.next()
    const { source } = kafkaSource(platformaticOf(cluster.brokers), { ...FAST, topics: [topic], group: groupId })
    const intake = RecordingIntake.settling()
    await source.open(intake)
    await eventually(async () => source.health().partitions?.length === 1)
    await intake.untilSettled(100)
    const taken = Number(intake.positions[0]?.split('@')[0])
    await eventually(async () => old.assignments?.[0]?.partitions.includes(taken) === false)
    const handedOver: number[] = []
    for (let count = 0; count < 100; count++) {
      const { value } = (await messages.next()) as { readonly value: { readonly partition: number } }
      handedOver.push(value.partition)
    }
    expect(handedOver.filter((partition) => partition === taken).length).toBeGreaterThan(0)
    await old.close(true)
    await source.close()
  }, 60_000)
})
