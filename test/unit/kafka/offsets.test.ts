import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, describe, expect, it } from '@jest/globals'
import { ScriptedKafka } from '../../kafka/scripted.ts'
import { eventually } from '../../kit/eventually.ts'
import { closeSources, joinedSource, openSource, settleAll } from './joined-source.ts'

afterEach(closeSources)

describe('the first batch of an epoch', () => {
  it('is taken at the committed offset, which is read once for all partitions of a join', async () => {
    const { kafka, consumer, intake } = await joinedSource(5)
    kafka.committed.set('t/1', 8n)
    const { committed } = kafka.asked
    consumer.join({ t: [0, 1] })
    await Promise.all([consumer.fetch('t/0', 5, [5, 6]), consumer.fetch('t/1', 8, [9])])
    expect(intake.positions.toSorted()).toEqual(['0@5', '0@6', '1@9'])
    expect(consumer.resolved.toSorted()).toEqual(['t/0@6', 't/1@9'])
    expect(kafka.asked).toEqual({ committed: committed + 1, bounds: 0 })
  })

  it('after a join that follows a quiet time waits for an answer that is on its way already', async () => {
    const { kafka } = await joinedSource(5)
    expect(kafka.asked.committed).toBe(2) // Once before the join.
  })

  it('of a storm of joins is read for the first and the last of them', async () => {
    const { kafka, consumer, intake } = await joinedSource(5)
    for (let join = 0; join < 100; join++) consumer.join({ t: [0] })
    await consumer.fetch('t/0', 5, [5])
    expect(kafka.asked.committed).toBe(3) // Once before the first join.
    expect(intake.positions).toEqual(['0@5'])
  })

  it('is dropped when it was skipped to by a fetch from before the join, and read from the committed offset (K9)', async () => {
    const { consumer, intake } = await joinedSource(2)
    await consumer.fetch('t/0', 10, [10, 11])
    expect(intake.positions).toEqual([])
    expect(consumer.resolved).toEqual([])
    expect(consumer.seeks).toEqual(['t/0@2'])
    expect(intake.told('offset-skipped')).toEqual(['t/0: expected 2, got 10'])

    await consumer.fetch('t/0', 2, [2, 3])
    expect(intake.positions).toEqual(['0@2', '0@3'])
  })

  it('is never taken below what this process committed, though the group says so (K1, K10)', async () => {
    const { kafka, consumer, intake } = await joinedSource(0)
    await consumer.fetch('t/0', 0, [0, 1, 2])
    settleAll(intake)
    await intake.untilSettled(3)
    expect(consumer.commits).toEqual(['t/0@3'])

    kafka.committed.set('t/0', -2n)
    consumer.join({ t: [0] })
    await consumer.fetch('t/0', 0, [0, 1, 2, 3])
    expect(consumer.seeks).toEqual(['t/0@3'])
    expect(intake.told('offset-reset')).toEqual(['t/0: the group had committed -2', 't/0: expected 3, got 0'])
    // The group's offset is put right though nothing new has finished.
    await eventually(async () => consumer.commits.length === 2)
    expect(consumer.commits).toEqual(['t/0@3', 't/0@3'])
    await consumer.fetch('t/0', 3, [3])
    expect(intake.positions).toEqual(['0@0', '0@1', '0@2', '0@3'])
  })

  it('of a group without commits is taken from the beginning only', async () => {
    const { kafka, consumer, intake } = await joinedSource(-1)
    kafka.bounds.set('t/0', { low: 4n, high: 100n })
    await consumer.fetch('t/0', 7, [7])
    expect(consumer.seeks).toEqual(['t/0@4'])
    await consumer.fetch('t/0', 4, [4])
    expect(intake.positions).toEqual(['0@4'])
  })

  it('comes again while the broker does not tell the offsets', async () => {
    const { kafka, consumer, intake } = await joinedSource(5)
    kafka.adminFails = true
    await consumer.fetch('t/0', 5, [5])
    expect(intake.positions).toEqual([])
    expect(consumer.resolved).toEqual([])
    expect(intake.told('offsets-unknown')).toHaveLength(1)
    kafka.adminFails = false
    await consumer.fetch('t/0', 5, [5])
    expect(intake.positions).toEqual(['0@5'])
  })
})

describe('a later batch', () => {
  it('passes a gap that compaction left, because what was asked for fits', async () => {
    const { kafka, consumer, intake } = await joinedSource(0)
    await consumer.fetch('t/0', 0, [0])
    await consumer.fetch('t/0', 1, [40])
    expect(intake.positions).toEqual(['0@0', '0@40'])
    expect(kafka.asked.bounds).toBe(0)
    settleAll(intake)
    await eventually(async () => consumer.commits.includes('t/0@41'))
  })

  it('that fell back is a reset: dropped, told, sought, and the group put right (K10)', async () => {
    const { consumer, intake } = await joinedSource(5)
    await consumer.fetch('t/0', 5, [5, 6])
    await consumer.fetch('t/0', 0, [0, 1])
    expect(consumer.seeks).toEqual(['t/0@7'])
    expect(intake.told('offset-reset')).toEqual(['t/0: expected 7, got 0'])
    await eventually(async () => consumer.commits.length > 0)
    expect(consumer.commits).toEqual(['t/0@5']) // The watermark, which did not move, again.
    await consumer.fetch('t/0', 7, [7])
    expect(intake.positions).toEqual(['0@5', '0@6', '0@7'])
  })

  it('after a deletion by the broker goes on at what is left, and the gap is told', async () => {
    const { kafka, consumer, intake } = await joinedSource(5)
    await consumer.fetch('t/0', 5, [5])
    kafka.bounds.set('t/0', { low: 20n, high: 100n })
    await consumer.fetch('t/0', 20, [20])
    expect(intake.told('lost-by-retention')).toEqual(['t/0: expected 6, got 20'])
    settleAll(intake)
    await eventually(async () => consumer.commits.at(-1) === 't/0@21')
    expect(intake.positions).toEqual(['0@5', '0@20'])
  })

  it('of a topic that was re-created starts it anew: what was committed of the old one means nothing', async () => {
    const { kafka, consumer, intake } = await joinedSource(50)
    await consumer.fetch('t/0', 50, [50, 51])
    intake.at('0@50').settle()
    await intake.untilSettled(1)
    kafka.bounds.set('t/0', { low: 0n, high: 3n })
    await consumer.fetch('t/0', 0, [0, 1])
    expect(intake.told('truncated')).toEqual(['t/0: expected 52, got 3'])
    expect(intake.at('0@51').standing()).toBe('stale')
    expect(intake.at('0@51').settle()).toBe(false)
    settleAll(intake)
    await eventually(async () => consumer.commits.at(-1) === 't/0@2')
  })

  it('of a topic that was re-created while it was full finds it fetched: the new one holds nothing', async () => {
    const { kafka, consumer, intake } = await joinedSource(50, { maxWatermarkLag: 2 })
    await consumer.fetch('t/0', 50, [50, 51, 52])
    expect([...consumer.pausedNow]).toEqual(['t/0'])
    kafka.bounds.set('t/0', { low: 0n, high: 3n })
    await consumer.fetch('t/0', 0, [0])
    expect(intake.told('truncated')).toHaveLength(1)
    expect([...consumer.pausedNow]).toEqual([])
  })

  it('of a re-created topic is not held back by a commit of the old one that was under way', async () => {
    const { kafka, consumer, intake } = await joinedSource(50)
    let answer: (() => void) | undefined
    consumer.onCommit = () => new Promise((resolve) => (answer = resolve))
    await consumer.fetch('t/0', 50, [50, 51])
    settleAll(intake)
    await eventually(async () => answer !== undefined)
    kafka.committed.set('t/0', -1n)
    kafka.bounds.set('t/0', { low: 0n, high: 3n })
    await consumer.fetch('t/0', 0, [0])
    answer?.()
    consumer.join({ t: [0] })
    await consumer.fetch('t/0', 0, [0, 1])
    expect(intake.positions.slice(2)).toEqual(['0@0', '0@0', '0@1'])
    expect(intake.told('truncated')).toHaveLength(1)
  })

  it('is taken though whoever listens throws (K13)', async () => {
    const { consumer, intake } = await joinedSource(0)
    intake.report = () => {
      throw new TypeError('a mistake of the user')
    }
    consumer.join({ t: [0] })
    await consumer.fetch('t/0', 0, [0])
    settleAll(intake)
    await eventually(async () => consumer.commits.length > 0)
    consumer.emit('rebalancing')
    consumer.join({ t: [0] })
    expect(intake.positions).toEqual(['0@0'])
  })

  it('is taken though what was told of its join throws (K13)', async () => {
    const { consumer, intake } = await joinedSource(0)
    intake.standingChanged = () => {
      throw new TypeError('a mistake')
    }
    consumer.emit('rebalancing')
    consumer.join({ t: [0] })
    expect(intake.told('adapter-error')).toHaveLength(2)
    await consumer.fetch('t/0', 0, [0])
    expect(intake.positions).toEqual(['0@0'])
  })

  it('that cannot be handed over is told and read again, and nothing reaches kafkajs (K3, K6)', async () => {
    const { consumer, intake } = await joinedSource(0)
    const deliver = intake.deliver.bind(intake)
    intake.deliver = () => {
      throw new TypeError('a mistake')
    }
    await consumer.fetch('t/0', 0, [0, 1])
    expect(intake.told('adapter-error')).toEqual([expect.stringContaining('a mistake')])
    intake.deliver = deliver
    await eventually(async () => consumer.seeks.includes('t/0@0'))
    await consumer.fetch('t/0', 0, [0, 1])
    expect(intake.positions).toEqual(['0@0', '0@1'])
    settleAll(intake)
    await eventually(async () => consumer.commits.includes('t/0@2'))
  })

  it('is dropped unresolved after its partition was lost, before or while the broker is asked', async () => {
    const { consumer, intake } = await joinedSource(5)
    consumer.join({ t: [1] })
    await consumer.fetch('t/0', 5, [5])
    consumer.join({ t: [0] })
    const asking = consumer.fetch('t/0', 5, [5])
    consumer.join({ t: [] })
    await asking
    expect(intake.positions).toEqual([])
    expect(consumer.resolved).toEqual([])
  })

  it('is taken though its position cannot be resolved any more (K2)', async () => {
    const { consumer, intake } = await joinedSource(5)
    consumer.onResolve = () => {
      throw new TypeError("Cannot set properties of undefined (setting '0')")
    }
    await consumer.fetch('t/0', 5, [5])
    expect(intake.positions).toEqual(['0@5'])
    expect(intake.told('adapter-error')).toEqual([])
  })
})

function copyOf(origin: string, group: string): Record<string, string> {
  return { 'consume-once-origin-topic': origin, 'consume-once-group': group }
}

describe('a retry topic whose default name is that of another group too', () => {
  it('gives only the copies of this group; the others are told, and left to their group', async () => {
    const kafka = new ScriptedKafka()
    kafka.topics.push('a', 'a.b.c.retry-1')
    for (const topic of kafka.topics) kafka.committed.set(`${topic}/0`, 0n)
    kafka.onRun = (consumer) => consumer.join({ a: [0], 'a.b.c.retry-1': [0] })
    const retry = { topics: [{ delayMs: 1 }] }
    const { source, intake } = await openSource(kafka, { topics: ['a'], group: 'b.c', retry })
    const headers = {
      0: copyOf('a.b', 'c'),
      1: copyOf('a', 'b.c'),
      2: copyOf('a', 'former'),
      3: copyOf('elsewhere', 'c'),
      5: copyOf('a.b', 'c'),
    }
    await kafka.newest.fetch('a.b.c.retry-1/0', 0, [0, 1, 2, 3, 4, 5], undefined, headers)
    expect(intake.positions).toEqual(['0@1', '0@2', '0@3', '0@4'])
    expect(intake.told('foreign-copies')).toEqual([
      'a.b.c.retry-1: 2 of topic a.b, group c, whose retry topic has the same name; not handled here',
    ])
    expect(source.health().counts).toMatchObject({ 'foreign-copies': 1 })
    settleAll(intake)
    await eventually(async () => kafka.newest.commits.includes('a.b.c.retry-1/0@6'))
  })
})

describe('control records alone', () => {
  it('are committed without a payload where there never was one', async () => {
    const { consumer } = await joinedSource(0)
    consumer.control('t/0', 0, 3)
    await eventually(async () => consumer.commitsWithoutPayload.length > 0)
    expect(consumer.commitsWithoutPayload).toContain('t/0@4')
    await consumer.fetch('t/0', 4, [4])
    expect(consumer.commits).toEqual([])
  })

  it('never carry the watermark over messages that were skipped [T76]', async () => {
    const { consumer, intake } = await joinedSource(2)
    consumer.control('t/0', 10, 11) // Left over from before a rejoin: 2..9 were not received.
    await eventually(async () => consumer.seeks.length > 0)
    expect(consumer.seeks).toEqual(['t/0@2'])
    await consumer.fetch('t/0', 2, [2, 3, 4, 5, 6, 7, 8, 9])
    consumer.control('t/0', 10, 11)
    await turn()
    await consumer.fetch('t/0', 12, [12])
    expect(intake.deliveries).toHaveLength(9)
    expect(consumer.seeks).toHaveLength(1)
  })

  it('after a gap by compaction are entered the second time', async () => {
    const { consumer } = await joinedSource(2)
    consumer.control('t/0', 10, 11)
    await eventually(async () => consumer.seeks.length > 0)
    consumer.control('t/0', 10, 11)
    await eventually(async () => consumer.commitsWithoutPayload.includes('t/0@12'))
    expect(consumer.seeks).toEqual(['t/0@2'])
  })

  it('wait for the decision on those before them', async () => {
    const { consumer, intake } = await joinedSource(0)
    consumer.control('t/0', 0, 1)
    consumer.control('t/0', 2, 3)
    await consumer.fetch('t/0', 4, [4])
    expect(intake.positions).toEqual(['0@4'])
    expect(consumer.seeks).toEqual([])
  })
})
