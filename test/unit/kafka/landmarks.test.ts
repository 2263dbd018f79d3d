import { afterEach, describe, expect, it } from '@jest/globals'
import { eventually } from '../../kit/eventually.ts'
import { ScriptedKafka } from '../../kafka/scripted.ts'
import { closeSources, joinedSource, openSource, settleAll, type JoinedSource } from './joined-source.ts'

afterEach(closeSources)

const LANDMARK = 'consume-once/1 next=50 last=49 timestamp=1000 epoch=3'

/** A member that begins where another one, which is gone, had committed this. */
async function begun(
  metadata: string | null,
  change: (kafka: ScriptedKafka) => void = () => {},
): Promise<JoinedSource> {
  const kafka = new ScriptedKafka()
  kafka.topics.push('t')
  kafka.bounds.set('t/0', { low: 0n, high: 100n })
  kafka.committed.set('t/0', 50n)
  if (metadata !== null) kafka.metadata.set('t/0', metadata)
  change(kafka)
  return openSource(kafka, { topics: ['t'] })
}

describe('a commit', () => {
  it('names the last message below it, however many above it are over, and across a gap', async () => {
    const { consumer, intake } = await joinedSource(5)
    const as = { timestamps: { 5: 1_000, 6: 2_000, 9: 3_000 }, epochs: { 5: 0, 6: 1, 9: 1 } }
    await consumer.fetch('t/0', 5, [5, 6, 9], as)
    intake.at('0@9').settle()
    intake.at('0@5').settle()
    await eventually(async () => consumer.commits.at(-1) === 't/0@6')
    expect(consumer.metadata.get('t/0')).toBe('consume-once/1 next=6 last=5 timestamp=1000 epoch=0')
    intake.at('0@6').settle()
    await eventually(async () => consumer.commits.at(-1) === 't/0@10')
    expect(consumer.metadata.get('t/0')).toBe('consume-once/1 next=10 last=9 timestamp=3000 epoch=1')
    consumer.control('t/0', 10, 11)
    await eventually(async () => consumer.commits.at(-1) === 't/0@12')
    expect(consumer.metadata.get('t/0')).toBe('consume-once/1 next=12 last=9 timestamp=3000 epoch=1')
  })

  it('of messages that nothing distinguishes has no metadata', async () => {
    const { consumer, intake } = await joinedSource(5)
    await consumer.fetch('t/0', 5, [5])
    settleAll(intake)
    await eventually(async () => consumer.commits.at(-1) === 't/0@6')
    expect(consumer.metadata.get('t/0')).toBeNull()
  })

  it('of markers alone keeps the message that an earlier member named', async () => {
    const { consumer } = await begun(LANDMARK)
    await consumer.fetch('t/0', 50, [50])
    await consumer.fetch('t/0', 49, [49], { timestamps: { 49: 1_000 }, epochs: { 49: 3 }, markers: [50] })
    consumer.control('t/0', 50, 51)
    await eventually(async () => consumer.commits.at(-1) === 't/0@52')
    expect(consumer.metadata.get('t/0')).toBe('consume-once/1 next=52 last=49 timestamp=1000 epoch=3')
  })

  it('keeps it also where a member has met nothing but markers, and commits without a batch', async () => {
    const { consumer } = await begun(LANDMARK)
    for (const _ of [1, 2]) {
      consumer.control('t/0', 50, 51) // Once more: it is not left over from before the join.
      await eventually(async () => consumer.seeks.length > 0)
    }
    await eventually(async () => consumer.seeks.at(-1) === 't/0@50')
    consumer.control('t/0', 50, 51)
    await eventually(async () => consumer.commitsWithoutPayload.at(-1) === 't/0@52')
    expect(consumer.metadata.get('t/0')).toBe('consume-once/1 next=52 last=49 timestamp=1000 epoch=3')
  })
})

describe('a member that begins where another one had committed', () => {
  it.each([
    ['another time', { timestamps: { 49: 1_001 }, epochs: { 49: 3 } }],
    ['the same time, and was written by a later leader', { timestamps: { 49: 1_000 }, epochs: { 49: 4 } }],
  ])('tells, and reads the log whole, if the last message that was over has %s', async (_, as) => {
    const { consumer, intake } = await begun(LANDMARK)
    await consumer.fetch('t/0', 50, [50, 51])
    expect([consumer.seeks, intake.positions]).toEqual([['t/0@49'], []])
    await consumer.fetch('t/0', 49, [49, 50, 51], as)
    expect(intake.told('truncated')).toEqual(['t/0: the message at 49 is another one now'])
    expect(consumer.seeks.at(-1)).toBe('t/0@0')
    await consumer.fetch('t/0', 0, [0, 1])
    settleAll(intake)
    await eventually(async () => consumer.commits.at(-1) === 't/0@2')
    expect(intake.positions).toEqual(['0@0', '0@1'])
  })

  it('reads it whole also if a marker lies there now, with messages behind it or alone', async () => {
    const behind = await begun(LANDMARK)
    await behind.consumer.fetch('t/0', 50, [50])
    await behind.consumer.fetch('t/0', 49, [50], { timestamps: { 49: 1_001 }, markers: [49] })
    expect(behind.intake.told('truncated')).toEqual(['t/0: the message at 49 is another one now'])
    const alone = await begun(LANDMARK)
    await alone.consumer.fetch('t/0', 50, [50])
    alone.consumer.control('t/0', 49, 49)
    await alone.intake.untilTold('truncated')
    expect(alone.consumer.seeks.at(-1)).toBe('t/0@0')
  })

  it('takes the messages behind it from the same fetch if it is the same, each once', async () => {
    const { kafka, consumer, intake } = await begun(LANDMARK)
    await consumer.fetch('t/0', 50, [50, 51])
    await consumer.fetch('t/0', 49, [49, 50, 51], { timestamps: { 49: 1_000 }, epochs: { 49: 3 } })
    expect(intake.positions).toEqual(['0@50', '0@51'])
    expect(consumer.seeks).toEqual(['t/0@49'])
    await consumer.fetch('t/0', 52, [52])
    expect(intake.positions).toEqual(['0@50', '0@51', '0@52'])
    expect(kafka.asked.bounds).toBe(1)
    expect([intake.told('offset-skipped'), intake.told('offset-reset'), intake.told('truncated')]).toEqual([[], [], []])
  })

  it('goes on where the group is if the fetch of it brings nothing behind it', async () => {
    const { consumer, intake } = await begun('consume-once/1 next=50 last=47 timestamp=1000')
    await consumer.fetch('t/0', 50, [50])
    await consumer.fetch('t/0', 47, [47], { timestamps: { 47: 1_000 } })
    expect(consumer.resolved.at(-1)).toBe('t/0@49')
    await consumer.fetch('t/0', 50, [50])
    expect(intake.positions).toEqual(['0@50'])
    expect([intake.told('offset-reset'), consumer.seeks]).toEqual([[], ['t/0@47']])
  })

  it.each([
    ['nothing', null],
    ['a text of another client', 'AAAAAAAB'],
    ['a text of a later version', 'consume-once/2 next=50 last=49 timestamp=1'],
    ['a text whose offset a tool has moved', 'consume-once/1 next=60 last=59 timestamp=1'],
    ['a message that is not below it', 'consume-once/1 next=50 last=50 timestamp=1'],
  ])('takes the first batch as it comes if the commit has %s', async (_, metadata) => {
    const { kafka, consumer, intake } = await begun(metadata)
    await consumer.fetch('t/0', 50, [50], { timestamps: { 49: 9, 50: 9 } })
    expect([intake.positions, consumer.seeks, kafka.asked.bounds]).toEqual([['0@50'], [], 0])
  })

  it('does not look for a message that the broker has deleted, which would reset the group', async () => {
    const { consumer, intake } = await begun(LANDMARK, ({ bounds }) => bounds.set('t/0', { low: 50n, high: 100n }))
    await consumer.fetch('t/0', 50, [50])
    expect([intake.positions, consumer.seeks]).toEqual([['0@50'], []])
  })

  it('goes on if compaction has removed the message', async () => {
    const { consumer, intake } = await begun(LANDMARK)
    await consumer.fetch('t/0', 50, [50])
    await consumer.fetch('t/0', 49, [50, 51])
    expect([intake.positions, intake.told('truncated')]).toEqual([['0@50', '0@51'], []])
  })

  it('compares also while the ends of the topic are not told', async () => {
    const { consumer, intake } = await begun(LANDMARK, (kafka) => (kafka.boundsFail = true))
    await consumer.fetch('t/0', 50, [50])
    expect(consumer.seeks).toEqual(['t/0@49'])
    await consumer.fetch('t/0', 49, [49, 50], { timestamps: { 49: 1_000 } })
    expect(intake.positions).toEqual(['0@50'])
  })

  it('commits nothing before it has compared', async () => {
    const { source, consumer } = await begun(LANDMARK)
    await consumer.fetch('t/0', 50, [50])
    await source.close()
    expect(consumer.commits).toEqual([])
  })

  it('looks without a new message too, and of a storm of joins only after the last, with two requests for all', async () => {
    const partitions = Array.from({ length: 1_500 }, (_, index) => index)
    const { kafka, consumer } = await begun(LANDMARK, ({ bounds, committed, metadata }) => {
      for (const partition of partitions) {
        bounds.set(`t/${partition}`, { low: 0n, high: 50n })
        committed.set(`t/${partition}`, 50n)
        metadata.set(`t/${partition}`, LANDMARK)
      }
    })
    for (let joins = 0; joins < 20; joins++) consumer.join({ t: partitions })
    const { committed } = kafka.asked
    await eventually(async () => consumer.seeks.length === partitions.length)
    expect(new Set(consumer.seeks)).toEqual(new Set(partitions.map((partition) => `t/${partition}@49`)))
    expect(kafka.asked).toEqual({ committed: committed + 1, bounds: 1 })
  })
})

describe('a member that was in the group before', () => {
  it('compares at a take-over what the one before it had seen, not what it knew itself', async () => {
    const { kafka, consumer, intake } = await begun('consume-once/1 next=10 last=9 timestamp=500', ({ committed }) =>
      committed.set('t/0', 10n),
    )
    kafka.committed.set('t/0', 50n)
    kafka.metadata.set('t/0', LANDMARK)
    consumer.join({ t: [0] })
    await consumer.fetch('t/0', 50, [50])
    expect(consumer.seeks).toEqual(['t/0@49'])
    await consumer.fetch('t/0', 49, [49, 50], { timestamps: { 49: 7_000 } })
    expect(intake.told('truncated')).toEqual(['t/0: the message at 49 is another one now'])
  })
})

describe('a member that had seen the group further than it is now', () => {
  it('reads the log whole if another one has begun it anew, and it is not the log of that time', async () => {
    const { kafka, consumer, intake } = await begun(LANDMARK)
    kafka.committed.set('t/0', 30n) // Another member has found another log, and has read it up to here.
    kafka.metadata.set('t/0', 'consume-once/1 next=30 last=29 timestamp=7000 epoch=4')
    consumer.join({ t: [0] })
    await consumer.fetch('t/0', 30, [30])
    expect(consumer.seeks).toEqual(['t/0@49'])
    await consumer.fetch('t/0', 49, [49], { timestamps: { 49: 7_001 } })
    expect(consumer.seeks.at(-1)).toBe('t/0@0')
    expect(intake.told('truncated')).toEqual(['t/0: the message at 49 is another one now'])
  })
})

describe('a partition that this member keeps', () => {
  it('is compared at each join', async () => {
    const { kafka, consumer, intake } = await joinedSource(5)
    await consumer.fetch('t/0', 5, [5, 6], { timestamps: { 5: 1_000, 6: 2_000 } })
    settleAll(intake)
    await eventually(async () => consumer.commits.at(-1) === 't/0@7')
    kafka.committed.set('t/0', 7n)
    consumer.join({ t: [0] })
    await eventually(async () => consumer.seeks.at(-1) === 't/0@6')
    await consumer.fetch('t/0', 6, [6, 7], { timestamps: { 6: 7_000 } })
    expect(intake.told('truncated')).toEqual(['t/0: the message at 6 is another one now'])
  })
})
