import { eventually, untilResolved } from '../../test/kit/eventually.ts'
import { RecordingIntake } from '../../test/kit/recording-intake.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from '@jest/globals'
import { ConfigResourceTypes, type Consumer } from 'kafkajs'
import type { KafkaConsumerOptions } from '../../adapters/kafkajs/index.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import type { PrivateKafka } from '../../test/kit/servers/private-kafka.ts'
import type { Cluster } from '../../test/kafka/kit.ts'
import { ownCluster } from './own-cluster.ts'

let kafka: PrivateKafka
let cluster: Cluster

ownCluster((made, brokers) => ([cluster, kafka] = [made, brokers]))

const NODES = [1, 2, 3]

interface Partition {
  readonly leader: number
  readonly replicas: number[]
  readonly isr: number[]
}

/** This broker may not know a topic yet that was just created. */
function partitionOf(topic: string, partition: number): Promise<Partition> {
  return untilResolved(async () => {
    const { topics } = await cluster.admin.fetchTopicMetadata({ topics: [topic] })
    const found = topics[0]?.partitions.find(({ partitionId }) => partitionId === partition)
    if (found === undefined) throw new Error(`${topic} has no partition ${partition}`)
    return found
  }, 30_000)
}

/** Takes the partition from the broker that leads it; resolves when another does. */
async function moveAway(topic: string, partition: number): Promise<void> {
  const { leader } = await partitionOf(topic, partition)
  const replicas = NODES.filter((node) => node !== leader)
  await reassign(topic, partition, replicas)
  await eventually(async () => (await partitionOf(topic, partition)).leader !== leader)
}

/** Resolves when all brokers have the partition, as they do before it is moved: so that one of them may die. */
async function spread(topic: string, partition: number): Promise<void> {
  await reassign(topic, partition, NODES)
  await eventually(async () => (await partitionOf(topic, partition)).isr.length === NODES.length)
}

/** The partition of `__consumer_offsets` whose leader coordinates the group: by `Math.abs` of Java's hash, not by masking its sign. */
function coordinatedBy(groupId: string): number {
  let hash = 0
  for (const char of groupId) hash = (Math.imul(31, hash) + (char.codePointAt(0) ?? 0)) | 0
  return Math.abs(hash) % 3
}

const WHOLE = { lost: [], steppedBack: [] }

/** Below 0 it is kafkajs itself. */
function rises(offsets: readonly number[]): boolean {
  const ours = offsets.filter((offset) => offset >= 0)
  return ours.every((offset, at) => at === 0 || offset >= (ours[at - 1] ?? 0))
}

/** Messages that come and are settled, a little later, all the while. */
class Traffic {
  readonly topic: string
  readonly groupId: string
  readonly intake = new RecordingIntake()
  readonly #settled = new Set<string>()
  readonly #over = new AbortController()
  #sending: Promise<void> | undefined

  private constructor(topic: string, groupId: string) {
    this.topic = topic
    this.groupId = groupId
    this.intake.onDeliver = (delivery) => {
      setTimeout(() => {
        if (delivery.settle()) this.#settled.add(delivery.message.position)
        this.intake.notify()
      }, 10)
    }
  }

  static async start(consumer: KafkaConsumerOptions = {}): Promise<Traffic> {
    const topic = await cluster.topic(3, { 'min.insync.replicas': '1' })
    const traffic = new Traffic(topic, uniqueName('group'))
    traffics.push(traffic)
    await cluster.open({ topics: [topic], group: traffic.groupId, consumerConfig: consumer }, traffic.intake)
    traffic.#sending = traffic.#send()
    await traffic.untilMore(20)
    return traffic
  }

  get settled(): number {
    return this.#settled.size
  }

  /** That many messages more than now are settled. */
  async untilMore(count: number): Promise<void> {
    const wanted = this.#settled.size + count
    await this.intake.until(() => this.#settled.size >= wanted)
  }

  /** Nothing more is sent. */
  async cease(): Promise<void> {
    this.#over.abort()
    await this.#sending
  }

  /** Ends when everything sent is committed. `lost`: unsettled messages. `steppedBack`: partitions with a commit below an earlier one. */
  async end(): Promise<{ readonly lost: readonly string[]; readonly steppedBack: readonly string[] }> {
    await this.cease()
    const ends = (await cluster.highs(this.topic)).toSorted((a, b) => a.partition - b.partition)
    const highs = ends.map(({ high }) => Number(high))
    await cluster.untilCommitted(this.groupId, this.topic, highs)
    const all = highs.flatMap((high, partition) => Array.from({ length: high }, (_, at) => `${partition}@${at}`))
    const steppedBack = [...(await cluster.commitHistory(this.groupId))].filter(([, offsets]) => !rises(offsets))
    return {
      lost: all.filter((position) => !this.#settled.has(position)),
      steppedBack: steppedBack.map(([name, offsets]) => `${name}: ${offsets.join(' ')}`),
    }
  }

  async #send(): Promise<void> {
    for (let turn = 0; !this.#over.signal.aborted; turn++) {
      await cluster.send(this.topic, ['x'], turn % 3).catch(() => {})
      await sleep(10)
    }
  }
}

const traffics: Traffic[] = []

describe('a Kafka source', () => {
  // A failed test leaves no messages coming.
  afterEach(() => Promise.all(traffics.splice(0).map((traffic) => traffic.cease())))

  it('continues when its coordinator moves to another broker', async () => {
    const traffic = await Traffic.start()
    const partition = coordinatedBy(traffic.groupId)
    for (let moves = 0; moves < 2; moves++) {
      await moveAway('__consumer_offsets', partition)
      await traffic.untilMore(50)
    }
    expect(await traffic.end()).toEqual(WHOLE)
    expect(traffic.intake.told('commit-refused').join()).toContain('NOT_COORDINATOR_FOR_GROUP')
    await spread('__consumer_offsets', partition)
  }, 60_000)

  it('waits for a broker that is frozen', async () => {
    const traffic = await Traffic.start()
    const { leader } = await partitionOf(traffic.topic, 0)
    const node = kafka.nodes[leader - 1]
    node?.freeze()
    await sleep(3_000)
    node?.thaw()
    await traffic.untilMore(50)
    expect(await traffic.end()).toEqual(WHOLE)
  }, 60_000)

  it('continues when the coordinator of its group is killed, and when it is back', async () => {
    const traffic = await Traffic.start()
    const { leader } = await partitionOf('__consumer_offsets', coordinatedBy(traffic.groupId))
    const node = kafka.nodes[leader - 1]
    await node?.kill()
    await traffic.untilMore(100)
    await node?.restart()
    await traffic.untilMore(100)
    expect(await traffic.end()).toEqual(WHOLE)
  }, 90_000)

  it('reads the messages that a fetch from before a rejoin skipped (K9)', async () => {
    const [topic, groupId] = [await cluster.topic(3), uniqueName('group')]
    const [{ leader }, other] = [await partitionOf(topic, 0), await partitionOf(topic, 1)]
    expect(other.leader).not.toBe(leader)
    // A poll so long that it is under way on one broker while the fetch from the other one rejoins.
    const consumer = { maxWaitTimeInMs: 3_000, sessionTimeout: 10_000 }
    const { intake } = await cluster.open({ topics: [topic], group: groupId, consumerConfig: consumer })
    await cluster.send(topic, ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
    await intake.untilDelivered(10)
    for (const position of ['0@0', '0@1']) intake.at(position).settle()
    await cluster.untilCommitted(groupId, topic, [2, -1, -1])
    await moveAway(topic, 1)
    await intake.untilTold('group-joined', 2)
    await cluster.send(topic, ['10'])
    await intake.until(() => intake.positions.includes('0@10'))
    expect(intake.told('offset-skipped')).toEqual([`${topic}/0: expected 2, got 10`])
    for (const delivery of intake.deliveries) delivery.settle()
    await cluster.untilCommitted(groupId, topic, [11, -1, -1])
  }, 60_000)

  it('gets messages again after kafkajs resets an offset, and loses none (K10)', async () => {
    const [topic, groupId] = [await cluster.topic(1), uniqueName('group')]
    const value = 'x'.repeat(10_000)
    for (let batch = 0; batch < 10; batch++)
      await cluster.send(
        topic,
        Array.from({ length: 40 }, () => value),
      )
    // It must not learn about the new leader by itself, nor by a rejoin: it keeps asking the old one.
    const consumer = { metadataMaxAge: 600_000, sessionTimeout: 30_000 }
    const { source, intake, kafkaConsumer } = await cluster.open({
      topics: [topic],
      group: groupId,
      consumerConfig: consumer,
    })
    intake.onDeliver = (delivery) => delivery.settle()
    await cluster.untilCommitted(groupId, topic, [400])
    let sent = 400
    while (intake.told('offset-reset').length === 0) {
      source.pause()
      await turnsOf(kafkaConsumer, 2) // Also the fetch under way is over.
      const { leader } = await partitionOf(topic, 0)
      const [second = 0, third = 0] = NODES.filter((node) => node !== leader)
      await moveTo(topic, [second, third])
      await throttle(leader, topic, '1')
      await reassign(topic, 0, [second, third, leader]) // It has to begin anew, and copies nothing for now.
      await eventually(async () => (await partitionOf(topic, 0)).replicas.includes(leader))
      await cluster.send(topic, ['next'])
      sent++
      source.resume()
      // One that has not heard that it is to copy says that the partition is not its: then the new leader is asked, and it was for nothing.
      await intake.until(() => intake.told('offset-reset').length > 0 || intake.deliveries.length === sent)
      await throttle(leader, topic, '100000000')
    }
    await cluster.untilCommitted(groupId, topic, [sent])
    expect(intake.deliveries).toHaveLength(sent)
    const [history = []] = (await cluster.commitHistory(groupId)).values()
    expect(history).toContain(-2)
    expect(rises(history)).toBe(true)
  }, 60_000)
})

/** Turns of the fetch loop, of which a paused consumer does some too. */
async function turnsOf(consumer: Consumer, count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) {
    await new Promise<void>((resolve) => {
      const remove = consumer.on('consumer.fetch_start', () => {
        remove()
        resolve()
      })
    })
  }
}

async function reassign(topic: string, partition: number, replicas: number[]): Promise<void> {
  const partitionAssignment = [{ partition, replicas }]
  await cluster.admin.alterPartitionReassignments({ topics: [{ topic, partitionAssignment }] })
}

/** Resolves when the partition is on these brokers and no others. */
async function moveTo(topic: string, replicas: number[]): Promise<void> {
  await reassign(topic, 0, replicas)
  await eventually(async () => {
    const now = await partitionOf(topic, 0)
    return replicas.includes(now.leader) && now.replicas.every((node) => replicas.includes(node))
  })
}

/** How fast a broker may copy, in bytes per second. */
async function throttle(node: number, topic: string, rate: string): Promise<void> {
  const limits = [
    {
      type: ConfigResourceTypes.BROKER,
      name: String(node),
      entry: { name: 'follower.replication.throttled.rate', value: rate },
    },
    {
      type: ConfigResourceTypes.TOPIC,
      name: topic,
      entry: { name: 'follower.replication.throttled.replicas', value: '*' },
    },
  ]
  const resources = limits.map(({ type, name, entry }) => ({ type, name, configEntries: [entry] }))
  await cluster.admin.alterConfigs({ validateOnly: false, resources })
}
