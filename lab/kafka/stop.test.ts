import { openedOnce } from '../../test/kit/opened.ts'
import { eventually } from '../../test/kit/eventually.ts'
import { RecordingIntake } from '../../test/kit/recording-intake.ts'
import { afterEach, describe, expect, it } from '@jest/globals'
import { Kafka, logLevel, PartitionAssigners, type PartitionAssigner } from 'kafkajs'
import { runKafka } from '../../adapters/kafkajs/index.ts'
import { kafkaSource } from '../../adapters/kafkajs/client.ts'
import { defineConsumer } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { freePort } from '../../test/kit/servers/ports.ts'
import { startPrivateKafka } from '../../test/kit/servers/private-kafka.ts'
import { Cluster, FAST } from '../../test/kafka/kit.ts'
import { ScriptedKafka } from '../../test/kafka/scripted.ts'

let cluster: Cluster

openedOnce(Cluster, (made) => (cluster = made))
afterEach(() => cluster.closeSources())

async function stateOf(where: Cluster, groupId: string): Promise<string> {
  const { groups } = await where.admin.describeGroups([groupId])
  return `${groups[0]?.state}, ${groups[0]?.members.length} members`
}

const state = (groupId: string): Promise<string> => stateOf(cluster, groupId)

/** A gate in the middle of every join of the leader. */
class Held {
  entered = 0
  readonly #opened: Promise<void>
  #open: (() => void) | undefined

  constructor() {
    this.#opened = new Promise((resolve) => {
      this.#open = resolve
    })
  }

  readonly assigner: PartitionAssigner = (config) => {
    const usual = PartitionAssigners.roundRobin(config)
    return {
      ...usual,
      assign: async (group) => {
        this.entered++
        await this.#opened
        return usual.assign(group)
      },
    }
  }

  open(): void {
    this.#open?.()
  }
}

describe('stopping a Kafka source', () => {
  it('in the middle commits exactly the watermark, also what finished in the same turn', async () => {
    const [topic, groupId] = [await cluster.topic(2), uniqueName('group')]
    const values = Array.from({ length: 100 }, (_, index) => String(index))
    for (const partition of [0, 1]) await cluster.send(topic, values, partition)
    const { source, intake } = await cluster.open({ topics: [topic], group: groupId, commitEveryMs: 3_600_000 })
    await intake.untilDelivered(200)
    await source.stopIntake()
    const finished = intake.deliveries.filter(({ message }) => !['0@42', '1@99'].includes(message.position))
    expect(new Set(intake.deliveries.map((delivery) => delivery.standing()))).toEqual(new Set(['current']))
    expect(new Set(finished.map((delivery) => delivery.settle()))).toEqual(new Set([true]))
    await source.close()
    expect(await cluster.committed(groupId, topic)).toEqual([42, 99])
    expect(await state(groupId)).toBe('Empty, 0 members')
    expect(source.health()).toMatchObject({ ready: false, detail: 'stopped' })
    expect(intake.at('0@42').settle()).toBe(false)
  })

  it('delivers nothing after its intake has ended, keeps its membership, and a resume changes nothing', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const consumer = { sessionTimeout: 1_000, heartbeatInterval: 150 }
    const { source, intake } = await cluster.open({ topics: [topic], group: groupId, consumerConfig: consumer })
    await cluster.send(topic, ['a'])
    await intake.untilDelivered(1)
    await source.stopIntake()
    source.resume()
    await cluster.send(topic, ['b'])
    await new Promise((resolve) => setTimeout(resolve, 1_500)) // Longer than its session.
    expect(await state(groupId)).toBe('Stable, 1 members')
    expect(intake.positions).toEqual(['0@0'])
    expect(intake.at('0@0').settle()).toBe(true)
    await source.close()
    expect(await cluster.committed(groupId, topic)).toEqual([1])
  })

  it('is done once, however often it is asked for', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const { source } = await cluster.open({ topics: [topic], group: groupId })
    const closings = Array.from({ length: 10 }, () => source.close())
    expect(new Set(closings).size).toBe(1)
    await Promise.all(closings)
    expect(await state(groupId)).toBe('Empty, 0 members')
  })

  it('during a rebalance leaves the group all the same', async () => {
    const [topic, groupId] = [await cluster.topic(2), uniqueName('group')]
    const gate = new Held()
    const consumer = { partitionAssigners: [gate.assigner] }
    const opening = cluster.open({ topics: [topic], group: groupId, consumerConfig: consumer })
    await eventually(async () => gate.entered === 1)
    gate.open()
    const { source, intake } = await opening
    const second = new Held()
    const other = cluster.open({
      topics: [topic],
      group: groupId,
      consumerConfig: { partitionAssigners: [second.assigner] },
    })
    await intake.untilTold('rebalancing')
    const closing = source.close()
    second.open()
    await Promise.all([closing, other])
    const { intake: others } = await other
    await eventually(async () => (await state(groupId)) === 'Stable, 1 members')
    for (const partition of [0, 1]) await cluster.send(topic, ['a'], partition)
    await others.untilDelivered(2)
    expect(intake.deliveries).toEqual([])
  })

  it('is asked of kafkajs only right after a fetch has started: at other times it may freeze the process', async () => {
    const kafka = new ScriptedKafka()
    kafka.topics.push('t')
    const { source } = kafkaSource(kafka, { topics: ['t'], group: uniqueName('group') })
    await source.open(new RecordingIntake())
    await source.close()
    expect(kafka.newest.stopsAtFetch).toEqual([true])
  })

  it('during its first join leaves nothing behind that lives on', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const gate = new Held()
    const consumer = { ...FAST.consumerConfig, partitionAssigners: [gate.assigner] }
    const { source } = kafkaSource(cluster.client(), {
      ...FAST,
      topics: [topic],
      group: groupId,
      consumerConfig: consumer,
    })
    const intake = new RecordingIntake()
    const opening = source.open(intake)
    const refusal = opening.catch((error: unknown) => error)
    await eventually(async () => gate.entered === 1)
    const closing = source.close()
    gate.open()
    await closing
    expect(await refusal).toMatchObject({ code: 'STOPPED' })
    expect(await state(groupId)).toBe('Empty, 0 members')
    expect(source.health().ready).toBe(false)
  })

  it('cancels the first join of a consumer whose health is told all the while', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const gate = new Held()
    const consumer = { ...FAST.consumerConfig, partitionAssigners: [gate.assigner] }
    const sms = defineConsumer({ name: 'sms', store: memoryStore(), handle: () => {} })
    const running = runKafka(cluster.client(), sms, {
      ...FAST,
      topics: [topic],
      group: groupId,
      consumerConfig: consumer,
    })
    await eventually(async () => gate.entered === 1)
    expect(running.health()).toMatchObject({
      live: true,
      ready: false,
      state: 'starting',
      checks: { source: 'joining' },
    })
    const stopping = running.stop()
    expect(await running.ready()).toBe('stopped')
    gate.open()
    await stopping
    expect(running.state).toBe('stopped')
    expect(await state(groupId)).toBe('Empty, 0 members')
  })

  it('ends a start that finds no broker, before kafkajs has given up', async () => {
    const kafka = new Kafka({ brokers: [`127.0.0.1:${await freePort()}`], logLevel: logLevel.NOTHING })
    const sms = defineConsumer({ name: 'sms', store: memoryStore(), handle: () => {} })
    const running = runKafka(kafka, sms, { topics: ['t'], group: uniqueName('group') })
    await eventually(async () => running.health().checks['source'] === 'connecting')
    await running.stop()
    expect((await running).state).toBe('stopped')
  })

  it('ends within bounds though the broker is frozen', async () => {
    await using kafka = await startPrivateKafka()
    await using own = await Cluster.open(kafka.brokers)
    const [topic, groupId] = [await own.topic(), uniqueName('group')]
    // Long enough that the group is empty only because the member has left, not because the broker dropped it.
    const consumer = { sessionTimeout: 60_000 }
    const { source, intake } = await own.open({ topics: [topic], group: groupId, consumerConfig: consumer })
    await own.send(topic, ['a'])
    await intake.untilDelivered(1)
    kafka.freeze()
    intake.at('0@0').settle()
    await source.close()
    expect(source.health().ready).toBe(false)
    kafka.thaw()
    // Interrupted work finishes in the background once the broker answers.
    await eventually(async () => (await stateOf(own, groupId)) === 'Empty, 0 members')
  }, 60_000)
})
