import { openedOnce } from '../kit/opened.ts'
import { RecordingIntake } from '../kit/recording-intake.ts'
import { afterEach, describe, expect, it } from '@jest/globals'
import { uniqueName } from '../kit/namespace.ts'
import { clientOfTests } from './client/of-tests.ts'
import { itOnClassic, joinsOf } from './client/it-on.ts'
import { Cluster } from './kit.ts'

let cluster: Cluster

openedOnce(Cluster, (made) => (cluster = made))
afterEach(() => cluster.closeSources())

const partitionOf = (position: string): number => Number(position.split('@')[0])

describe('a rebalance of a Kafka group', () => {
  // By that of KIP-848 kept partitions stay.
  itOnClassic(
    'ends every epoch: kept partitions are stale and come again, lost ones are lost, neither can be settled [T81]',
    async () => {
      const [topic, groupId] = [await cluster.topic(2), uniqueName('group')]
      for (const partition of [0, 1]) await cluster.send(topic, ['a', 'b'], partition)
      const one = await cluster.open({ topics: [topic], group: groupId })
      await one.intake.untilDelivered(4)
      const old = [...one.intake.deliveries]
      expect(old.map((delivery) => delivery.standing())).toEqual(['current', 'current', 'current', 'current'])
      const standings: string[] = []
      const wasToldOf = one.intake.standingChanged.bind(one.intake)
      one.intake.standingChanged = () => {
        standings.push(old.map((delivery) => delivery.standing()).join(' '))
        wasToldOf()
      }

      const two = await cluster.open({ topics: [topic], group: groupId })
      await Promise.all([one.intake.untilDelivered(6), two.intake.untilDelivered(2)])
      expect(standings[0]).toBe('stale stale stale stale') // Between REBALANCING and GROUP_JOIN nobody knows.
      const kept = partitionOf(one.intake.positions.at(-1) ?? '')
      const lost = 1 - kept
      for (const delivery of old) {
        const isKept = partitionOf(delivery.message.position) === kept
        expect(delivery.standing()).toBe(isKept ? 'stale' : 'lost')
        expect(delivery.settle()).toBe(false)
      }
      expect(one.intake.positions.slice(4)).toEqual([`${kept}@0`, `${kept}@1`])
      expect(two.intake.positions).toEqual([`${lost}@0`, `${lost}@1`])
      for (const { intake } of [one, two]) for (const delivery of intake.deliveries.slice(-2)) delivery.settle()
      await cluster.untilCommitted(groupId, topic, [2, 2])
    },
  )

  // By that of KIP-848 kept partitions stay.
  itOnClassic('commits what is ready before it begins, so that it is not repeated', async () => {
    const [topic, groupId] = [await cluster.topic(2), uniqueName('group')]
    for (const partition of [0, 1]) await cluster.send(topic, ['a', 'b'], partition)
    const one = await cluster.open({ topics: [topic], group: groupId, commitEveryMs: 3_600_000 })
    await one.intake.untilDelivered(4)
    for (const position of ['0@0', '1@0']) one.intake.at(position).settle()

    const two = await cluster.open({ topics: [topic], group: groupId })
    await Promise.all([one.intake.untilDelivered(5), two.intake.untilDelivered(1)])
    expect([...one.intake.positions.slice(4), ...two.intake.positions].toSorted()).toEqual(['0@1', '1@1'])
  })

  // By that of KIP-848 kept partitions stay.
  itOnClassic('by a grown partition count commits nothing of the old epoch under the new generation (K1)', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    await cluster.send(topic, ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
    const { intake } = await cluster.open({ topics: [topic], group: groupId })
    await intake.untilDelivered(10)
    const old = [...intake.deliveries]
    await cluster.admin.createPartitions({ topicPartitions: [{ topic, count: 2 }] })
    await intake.untilDelivered(20)
    expect(intake.told('rebalancing')).toHaveLength(clientOfTests === 'kafkajs' ? 0 : 1) // kafkajs gives no warning on this path.
    for (const delivery of intake.deliveries.slice(10)) delivery.settle()
    await cluster.untilCommitted(groupId, topic, [10, -1])

    expect(old.map((delivery) => delivery.standing())).toEqual(Array.from({ length: 10 }, () => 'stale'))
    expect(old[0]?.settle()).toBe(false)
    await cluster.send(topic, ['x'], 1) // Another commit goes out, for the new partition alone.
    await intake.until(() => intake.positions.includes('1@0'))
    intake.at('1@0').settle()
    await cluster.untilCommitted(groupId, topic, [10, 1])
    const [first, ...later] = (await cluster.commitHistory(groupId)).get(`${topic}/0`)?.toReversed() ?? []
    expect(first).toBe(10)
    for (const offset of later) expect(offset).toBe(0) // Where it began.
  })

  it('consumes a partition that was paused, lost, and came back after the pause had ended', async () => {
    const [topic, groupId] = [await cluster.topic(2), uniqueName('group')]
    const one = await cluster.open({ topics: [topic], group: groupId })
    one.source.pause()
    const two = await cluster.open({ topics: [topic], group: groupId })
    await one.intake.until(() => joinsOf(one.intake) >= 2)
    one.source.resume()
    await two.source.close()
    await one.intake.until(() => joinsOf(one.intake) >= 3)
    for (const partition of [0, 1]) await cluster.send(topic, ['a'], partition)
    await one.intake.untilDelivered(2)
    expect(one.intake.positions.toSorted()).toEqual(['0@0', '1@0'])
  })

  it('keeps a pause for partitions that come new', async () => {
    const [topic, groupId] = [await cluster.topic(2), uniqueName('group')]
    const one = await cluster.open({ topics: [topic], group: groupId })
    const two = await cluster.open({ topics: [topic], group: groupId })
    await one.intake.until(() => joinsOf(one.intake) >= 2)
    one.source.pause()
    await two.source.close()
    await one.intake.until(() => joinsOf(one.intake) >= 3)
    for (const partition of [0, 1]) await cluster.send(topic, ['a'], partition)
    // Another group's consumer gets them; ours would have in the same time.
    const other = await cluster.open({ topics: [topic], group: uniqueName('other') })
    await other.intake.untilDelivered(2)
    expect(one.intake.deliveries).toHaveLength(0)
    one.source.resume()
    await one.intake.untilDelivered(2)
  })

  it('keeps the members of a group apart and loses nothing while they come and go', async () => {
    const [topic, groupId] = [await cluster.topic(4), uniqueName('group')]
    const values = Array.from({ length: 200 }, (_, index) => String(index))
    const seen = new Set<string>()
    const settling = (): RecordingIntake => {
      const intake = new RecordingIntake()
      intake.onDeliver = (delivery) => {
        setTimeout(() => {
          if (delivery.settle()) seen.add(delivery.message.position)
        }, Math.random() * 30)
      }
      return intake
    }
    const stays = await cluster.open({ topics: [topic], group: groupId }, settling())
    const sending = Promise.all([0, 1, 2, 3].map((partition) => cluster.send(topic, values, partition)))
    for (let round = 0; round < 3; round++) {
      const comes = await cluster.open({ topics: [topic], group: groupId }, settling())
      await comes.source.close()
    }
    await sending
    await cluster.untilCommitted(groupId, topic, [200, 200, 200, 200])
    expect(seen.size).toBe(800)
    expect(stays.intake.told('adapter-error')).toEqual([])
    const history = await cluster.commitHistory(groupId)
    expect(history.size).toBe(4)
    for (const offsets of history.values()) expect(offsets).toEqual(offsets.toSorted((a, b) => a - b))
  })
})
