import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, describe, expect, it } from '@jest/globals'
import { eventually } from '../../kit/eventually.ts'
import { closeSources, joinedSource, settleAll, type JoinedSource } from './joined-source.ts'

afterEach(closeSources)

/** Has handed over 5 and 6, of times that the broker told. */
async function received(): Promise<JoinedSource> {
  const given = await joinedSource(5)
  await given.consumer.fetch('t/0', 5, [5, 6], { timestamps: { 5: 1_000, 6: 2_000 } })
  return given
}

const pauses: [string, (given: JoinedSource) => void][] = [
  [
    'a pause of all partitions',
    ({ source }) => {
      source.pause()
      source.resume()
    },
  ],
  ['a fetch that failed', ({ consumer }) => void (consumer.fetchFails = true)],
]

describe('a topic that was created anew and refilled, so that no fetch fails', () => {
  it.each(pauses)('is noticed after %s by the last message received, and read whole', async (_, pause) => {
    const given = await received()
    const { consumer, intake } = given
    intake.at('0@5').settle()
    pause(given)
    await eventually(async () => consumer.seeks.at(-1) === 't/0@6')
    await consumer.fetch('t/0', 6, [6, 7, 8], { timestamps: { 6: 7_000 } })
    expect(intake.told('truncated')).toEqual(['t/0: the message at 6 is another one now'])
    expect(consumer.seeks.at(-1)).toBe('t/0@0')
    expect(intake.at('0@6').settle()).toBe(false)
    await consumer.fetch('t/0', 0, [0, 1])
    expect(intake.positions).toEqual(['0@5', '0@6', '0@0', '0@1'])
    settleAll(intake)
    await eventually(async () => consumer.commits.at(-1) === 't/0@2')
  })

  it.each(pauses)('and one that is the same goes on after %s: each message is delivered once', async (_, pause) => {
    const given = await received()
    const { consumer, intake } = given
    pause(given)
    await eventually(async () => consumer.seeks.at(-1) === 't/0@6')
    await consumer.fetch('t/0', 7, [7, 8]) // It was on its way already.
    await consumer.fetch('t/0', 6, [6, 7, 8], { timestamps: { 6: 2_000 } })
    expect(intake.positions).toEqual(['0@5', '0@6', '0@7', '0@8'])
    settleAll(intake)
    await eventually(async () => consumer.commits.at(-1) === 't/0@9')
    expect([intake.told('offset-skipped'), intake.told('offset-reset'), intake.told('truncated')]).toEqual([[], [], []])
  })

  it('is noticed when it ends right before the last message received, which no fetch brings', async () => {
    const { kafka, source, consumer, intake } = await received()
    source.pause()
    source.resume()
    kafka.bounds.set('t/0', { low: 0n, high: 6n })
    await intake.untilTold('truncated')
    expect(intake.told('truncated')).toEqual(['t/0: expected 7, got 6'])
    expect(consumer.seeks.at(-1)).toBe('t/0@0')
  })

  it('is not taken for one whose last message was deleted by retention: that one goes on, and commits again', async () => {
    const { kafka, source, consumer, intake } = await received()
    settleAll(intake)
    await eventually(async () => consumer.commits.at(-1) === 't/0@7')
    const commits = consumer.commits.length
    source.pause()
    source.resume()
    kafka.bounds.set('t/0', { low: 7n, high: 7n })
    await eventually(async () => consumer.commits.length > commits)
    expect(consumer.commits.at(-1)).toBe('t/0@7')
    await consumer.fetch('t/0', 7, [7])
    expect(intake.positions).toEqual(['0@5', '0@6', '0@7'])
    expect([intake.told('lost-by-retention'), intake.told('truncated')]).toEqual([[], []])
  })
})

/** 5 is committed, 6 is under way, and the group says -2. */
async function joinedAgain(): Promise<JoinedSource> {
  const given = await received()
  given.intake.at('0@5').settle()
  await eventually(async () => given.consumer.commits.at(-1) === 't/0@6')
  given.kafka.committed.set('t/0', -2n)
  given.consumer.join({ t: [0] })
  return given
}

describe('a topic in which kafkajs did not find its position, before the group joined again', () => {
  it('is read whole if the last message below what was committed is another one now', async () => {
    const { consumer, intake } = await joinedAgain()
    await consumer.fetch('t/0', 0, [0, 1])
    expect(consumer.seeks.at(-1)).toBe('t/0@5')
    await consumer.fetch('t/0', 5, [5, 6, 7], { timestamps: { 5: 7_000 } })
    expect(intake.told('truncated')).toEqual(['t/0: the message at 5 is another one now'])
    expect(consumer.seeks.at(-1)).toBe('t/0@0')
    await consumer.fetch('t/0', 0, [0, 1, 2])
    expect(intake.positions).toEqual(['0@5', '0@6', '0@0', '0@1', '0@2'])
    settleAll(intake)
    await eventually(async () => consumer.commits.at(-1) === 't/0@3')
  })

  it.each([
    ['is the same', { 5: 1_000 }, [5, 6, 7]],
    ['was removed by compaction', {}, [6, 7]],
  ])('goes on where this process had committed if that message %s', async (_, timestamps, found) => {
    const { consumer, intake } = await joinedAgain()
    await consumer.fetch('t/0', 0, [0, 1])
    await consumer.fetch('t/0', 5, found, { timestamps })
    expect(intake.positions).toEqual(['0@5', '0@6', '0@6', '0@7'])
    expect(consumer.seeks).toEqual(['t/0@5'])
    settleAll(intake)
    await eventually(async () => consumer.commits.at(-1) === 't/0@8')
    expect(intake.told('truncated')).toEqual([])
  })

  it('goes on there too if only control records are left behind that message', async () => {
    const { consumer, intake } = await joinedAgain()
    await consumer.fetch('t/0', 0, [0, 1])
    for (const _ of [1, 2]) {
      consumer.control('t/0', 7, 8) // A fetch from 6. Once more: it is not left over from before the join.
      await turn()
      await turn()
    }
    await eventually(async () => consumer.seeks.length === 3)
    await consumer.fetch('t/0', 6, [6])
    expect(intake.positions).toEqual(['0@5', '0@6', '0@6'])
  })

  it('goes back to what this process had committed, also if it had received more', async () => {
    const { kafka, consumer, intake } = await joinedSource(5)
    await consumer.fetch('t/0', 5, [5, 6, 7, 8], { timestamps: { 8: 1_000 } })
    intake.at('0@5').settle()
    await eventually(async () => consumer.commits.at(-1) === 't/0@6')
    kafka.committed.set('t/0', -2n)
    consumer.join({ t: [0] })
    await consumer.fetch('t/0', 8, [8, 9], { timestamps: { 8: 1_000 } })
    expect(consumer.seeks).toEqual(['t/0@6'])
    await consumer.fetch('t/0', 6, [6, 7, 8, 9])
    expect(intake.positions.slice(4)).toEqual(['0@6', '0@7', '0@8', '0@9'])
  })

  it('is read whole if it ends before that message, which no fetch brings', async () => {
    const { kafka, consumer, intake } = await joinedAgain()
    kafka.bounds.set('t/0', { low: 0n, high: 3n })
    await consumer.fetch('t/0', 0, [0, 1, 2])
    expect(intake.told('truncated')).toEqual(['t/0: expected 6, got 3'])
    expect(intake.positions.slice(2)).toEqual(['0@0', '0@1', '0@2'])
  })

  it('goes on at what is left, and tells the gap, if retention has deleted that message', async () => {
    const { kafka, consumer, intake } = await joinedAgain()
    kafka.bounds.set('t/0', { low: 20n, high: 100n })
    await consumer.fetch('t/0', 20, [20])
    expect(intake.told('lost-by-retention')).toEqual(['t/0: expected 6, got 20'])
    expect(intake.positions.slice(2)).toEqual(['0@20'])
  })

  it('goes on where the group is if another member has read on, and retention has deleted that message', async () => {
    const { kafka, consumer, intake } = await received()
    settleAll(intake)
    await eventually(async () => consumer.commits.at(-1) === 't/0@7')
    kafka.committed.set('t/0', 50n)
    consumer.join({ t: [0] })
    await consumer.fetch('t/0', 50, [])
    consumer.fetchFails = true
    await eventually(async () => consumer.seeks.at(-1) === 't/0@6')
    consumer.fetchFails = false
    await new Promise<void>((resolve) => consumer.on('consumer.fetch', () => resolve()))
    kafka.bounds.set('t/0', { low: 20n, high: 100n })
    const commits = consumer.commits.length
    await consumer.fetch('t/0', 20, [20, 21])
    expect(consumer.seeks.at(-1)).toBe('t/0@50')
    expect(intake.positions).toEqual(['0@5', '0@6'])
    await eventually(async () => consumer.commits.length > commits)
    expect(consumer.commits.at(-1)).toBe('t/0@50')
    expect([intake.told('lost-by-retention'), intake.told('truncated')]).toEqual([[], []])
  })

  it('is compared also after a fetch that failed, though nothing of this join was received', async () => {
    const { kafka, consumer, intake } = await received()
    settleAll(intake)
    await eventually(async () => consumer.commits.at(-1) === 't/0@7')
    kafka.committed.set('t/0', 7n)
    kafka.committed.set('t/1', 0n)
    consumer.join({ t: [0, 1] })
    await consumer.fetch('t/0', 7, [])
    consumer.fetchFails = true
    await eventually(async () => consumer.seeks.at(-1) === 't/0@6')
    await consumer.fetch('t/0', 6, [6, 7, 8], { timestamps: { 6: 7_000 } })
    expect(intake.told('truncated')).toEqual(['t/0: the message at 6 is another one now'])
  })
})
