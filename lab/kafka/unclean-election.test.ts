import { eventually, untilResolved } from '../../test/kit/eventually.ts'
import { RecordingIntake } from '../../test/kit/recording-intake.ts'
import { afterEach, describe, expect, it } from '@jest/globals'
import type { KafkaOptions } from '../../adapters/kafkajs/index.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import type { PrivateKafka } from '../../test/kit/servers/private-kafka.ts'
import type { Cluster } from '../../test/kafka/kit.ts'
import { ownCluster } from './own-cluster.ts'

let kafka: PrivateKafka
let cluster: Cluster

ownCluster((made, brokers) => ([cluster, kafka] = [made, brokers]))
afterEach(async () => {
  const killed = kafka.nodes.filter(({ pids }) => pids.length === 0)
  await Promise.all(killed.map((node) => node.restart()))
})

const CUT_OFF = texts('cut-off', 50)
const NEW = texts('new', 120)
const IS_ANOTHER = /^unclean.*\/0: the message at \d+ is another one now$/

/** A topic that any replica may lead, however far it is behind. The first leads now, and both have its 100 messages. */
async function uncleanTopic(): Promise<KafkaOptions> {
  const topic = uniqueName('unclean')
  const config = { 'unclean.leader.election.enable': 'true', 'min.insync.replicas': '1' }
  const configEntries = Object.entries(config).map(([name, value]) => ({ name, value }))
  const replicaAssignment = [{ partition: 0, replicas: [1, 2] }]
  await cluster.admin.createTopics({ waitForLeaders: false, topics: [{ topic, replicaAssignment, configEntries }] })
  await eventually(async () => {
    const partition = await partitionOf(topic)
    return partition?.leader === 1 && partition.isr.length === 2
  })
  await send(topic, texts('kept', 100), -1)
  return { topics: [topic], group: uniqueName('group'), setup: 'off' }
}

async function partitionOf(topic: string): Promise<{ leader: number; isr: number[] } | undefined> {
  const told = await cluster.admin.fetchTopicMetadata({ topics: [topic] }).catch(() => undefined)
  return told?.topics[0]?.partitions[0]
}

/** `acks: 1`: the leader alone confirms them. Where kafkajs tries again, some may lie there twice. */
async function send(topic: string, values: readonly string[], acks: 1 | -1): Promise<void> {
  await cluster.producer.disconnect() // It remembers another leader.
  await cluster.producer.connect()
  const messages = values.map((value) => ({ value, partition: 0 }))
  await eventually(async () => (await cluster.producer.send({ topic, messages, acks }).catch(() => [])).length === 1)
}

/** A broker that has just come back may not know yet that it leads. */
async function endOf(topic: string): Promise<number> {
  const [partition] = await untilResolved(() => cluster.highs(topic), 60_000)
  return Number(partition?.high)
}

/** The second broker is away while the leader takes messages, which it confirms. Resolves with the end. */
async function followerMisses(topic: string): Promise<number> {
  await kafka.nodes[1]?.kill()
  await eventually(async () => String((await partitionOf(topic))?.isr) === '1')
  await send(topic, CUT_OFF, 1)
  return endOf(topic)
}

/** The leader dies, and the second broker leads without those messages. */
async function electUncleanly(topic: string): Promise<void> {
  await kafka.nodes[0]?.kill()
  await kafka.nodes[1]?.restart()
  await eventually(async () => (await partitionOf(topic))?.leader === 2)
}

function texts(what: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${what}-${index}`)
}

function missing(intake: RecordingIntake, values: readonly string[]): readonly string[] {
  const handled = new Set(intake.deliveries.map(({ message }) => String(message.value)))
  return values.filter((value) => !handled.has(value))
}

describe('an unclean election, after which the log grows again as far as the group has committed', () => {
  it('while no member runs: the next one tells, and reads the log whole, so that no new message is lost', async () => {
    const options = await uncleanTopic()
    const {
      group,
      topics: [topic = ''],
    } = options
    const committed = await followerMisses(topic)
    const before = await cluster.open(options, RecordingIntake.settling())
    await cluster.untilCommitted(group, topic, [committed])
    await before.source.close()
    await electUncleanly(topic)
    await send(topic, NEW, 1)
    const end = await endOf(topic)
    expect(end).toBeGreaterThan(committed)

    const { intake } = await cluster.open(options, RecordingIntake.settling())
    await cluster.untilCommitted(group, topic, [end])
    await intake.until(() => intake.positions.includes(`0@${end - 1}`))
    expect(missing(intake, NEW)).toEqual([])
    expect(intake.told('truncated')).toEqual([expect.stringMatching(IS_ANOTHER)])
  }, 180_000)

  it('at a take-over, also if the new member was in the group all along: it tells, and reads the log whole', async () => {
    const options = await uncleanTopic()
    const {
      group,
      topics: [topic = ''],
    } = options
    const committed = await followerMisses(topic)
    const first = await cluster.open(options, RecordingIntake.settling())
    await cluster.untilCommitted(group, topic, [committed])
    const second = await cluster.open(options, RecordingIntake.settling())
    first.source.pause()
    second.source.pause()
    await electUncleanly(topic)
    await send(topic, NEW, 1)
    const end = await endOf(topic)

    const [owner, other] = first.source.health().partitions?.length === 1 ? [first, second] : [second, first]
    await owner.source.close()
    await eventually(async () => other.source.health().partitions?.length === 1)
    other.source.resume()
    await cluster.untilCommitted(group, topic, [end])
    await other.intake.until(() => other.intake.positions.includes(`0@${end - 1}`))
    expect(missing(other.intake, NEW)).toEqual([])
    expect(other.intake.told('truncated')).toEqual([expect.stringMatching(IS_ANOTHER)])
  }, 180_000)

  it('with nothing new behind it: the next member tells, and reads the log whole all the same', async () => {
    const options = await uncleanTopic()
    const {
      group,
      topics: [topic = ''],
    } = options
    const committed = await followerMisses(topic)
    const before = await cluster.open(options, RecordingIntake.settling())
    await cluster.untilCommitted(group, topic, [committed])
    await before.source.close()
    await electUncleanly(topic)
    const fresh = texts('new', committed - (await endOf(topic)))
    await send(topic, fresh, 1)
    expect(await endOf(topic)).toBe(committed)

    const { intake } = await cluster.open(options, RecordingIntake.settling())
    await intake.untilTold('truncated')
    await intake.until(() => missing(intake, fresh).length === 0)
    expect(intake.told('truncated')).toEqual([expect.stringMatching(IS_ANOTHER)])
  }, 180_000)
})
