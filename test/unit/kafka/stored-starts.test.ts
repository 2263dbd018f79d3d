import { afterEach, describe, expect, it } from '@jest/globals'
import { eventually } from '../../kit/eventually.ts'
import { Signal } from '../../kit/signal.ts'
import { closeSources, settleAll } from './joined-source.ts'
import { openStored, startStored } from './stored-source.ts'

afterEach(closeSources)

describe('a partition with a stored position', () => {
  it.each([
    ['above what the group has committed', 9n, 5],
    ['below it: its database was restored', 3n, 5],
    ['where the group has committed nothing', 9n, -1],
    ['where kafkajs has reset the group', 9n, -2],
  ])('begins there, %s, and says so', async (_case, stored, committed) => {
    const { consumer, intake } = await startStored({ committed, stored: { 't/0': stored } })
    expect(consumer.seeks).toEqual([`t/0@${stored}`])
    // What was under way from where the group had committed.
    await consumer.fetch('t/0', 5, [5, 6])
    expect(intake.positions).toEqual([])
    await consumer.fetch('t/0', Number(stored), [10, 11])
    expect(intake.positions).toEqual(['0@10', '0@11'])
    expect(intake.follows).toEqual([stored, 11n])
    await intake.untilTold('position-sought')
    expect(intake.told('position-sought')).toEqual([
      `t/0: stored ${stored}, the group had committed ${committed === -1 ? 'nothing' : committed}`,
    ])
    expect(intake.told('offset-skipped')).toEqual([])
    expect(intake.told('offset-reset')).toEqual([])
  })

  it('is committed though the group has an offset beyond the end, which kafkajs resets', async () => {
    const { source, consumer, intake } = await startStored({ committed: 1_000, stored: { 't/0': 5n } })
    await consumer.fetch('t/0', 5, [5, 6])
    settleAll(intake)
    await source.close()
    expect(consumer.commits.at(-1)).toBe('t/0@7')
  })

  it('begins there without a word where the group has committed the same', async () => {
    const { consumer, intake } = await startStored({ stored: { 't/0': 5n } })
    await consumer.fetch('t/0', 5, [5])
    settleAll(intake)
    await intake.untilSettled(1)
    expect(consumer.commits.at(-1)).toBe('t/0@6') // On a busy machine the 5 was committed once more.
    expect(intake.told('position-sought')).toEqual([])
  })

  it('is told to the group, as information', async () => {
    const { consumer } = await startStored({ stored: { 't/0': 9n } })
    await eventually(async () => consumer.commitsWithoutPayload.length > 0)
    expect(consumer.commitsWithoutPayload).toContain('t/0@9')
  })

  it('is read once for all partitions of a join, and for the last of a storm of them', async () => {
    const { kafka, consumer, intake } = await startStored({ stored: { 't/0': 5n, 't/1': 8n } })
    kafka.bounds.set('t/1', { low: 0n, high: 100n })
    const before = intake.reads.length
    for (let join = 0; join < 100; join++) consumer.join({ t: [0, 1] })
    await Promise.all([consumer.fetch('t/0', 5, [5]), consumer.fetch('t/1', 8, [8])])
    expect(intake.positions.toSorted()).toEqual(['0@5', '1@8'])
    expect(intake.reads.slice(before).filter((read) => read === 't/0 t/1').length).toBeLessThanOrEqual(2)
  })

  it('takes a batch that was under way from there, and its own seek coming after that for no reset', async () => {
    const { consumer, intake } = await startStored({ stored: { 't/0': 5n } })
    await consumer.fetch('t/0', 5, [5, 6])
    await consumer.fetch('t/0', 5, [5, 6])
    expect(intake.positions).toEqual(['0@5', '0@6'])
    expect(consumer.seeks.at(-1)).toBe('t/0@7')
    expect(intake.told('offset-reset')).toEqual([])
    await consumer.fetch('t/0', 3, [3])
    expect(intake.told('offset-reset')).toEqual(['t/0: expected 7, got 3'])
  })

  it('tells what the broker has deleted, as ever', async () => {
    const { kafka, consumer, intake } = await startStored({ stored: { 't/0': 5n } })
    kafka.bounds.set('t/0', { low: 20n, high: 100n })
    await consumer.fetch('t/0', 20, [20, 21])
    expect(intake.told('lost-by-retention')).toEqual(['t/0: expected 5, got 20'])
    expect(intake.follows).toEqual([5n, 21n])
  })

  it('steps over transaction markers without taking them for something before a message', async () => {
    const { consumer, intake } = await startStored({ stored: { 't/0': 5n } })
    await consumer.fetch('t/0', 5, [5], 6)
    await consumer.fetch('t/0', 7, [9])
    consumer.control('t/0', 10, 11)
    await consumer.fetch('t/0', 12, [12])
    expect(intake.positions).toEqual(['0@5', '0@9', '0@12'])
    expect(intake.follows).toEqual([5n, 6n, 10n])
  })

  it('is handled in its order', async () => {
    const { consumer, intake } = await startStored({ stored: { 't/0': 5n } })
    await consumer.fetch('t/0', 5, [5, 6])
    expect(intake.deliveries.map(({ lane }) => lane)).toEqual(['t/0', 't/0'])
  })
})

describe('a partition without a stored position', () => {
  it('begins where the group has committed', async () => {
    const { consumer, intake } = await startStored({ committed: 5 })
    await consumer.fetch('t/0', 5, [5, 6])
    expect(intake.follows).toEqual([undefined, 6n])
    expect(consumer.seeks).toEqual([])
  })

  it('begins at its beginning where that is nothing', async () => {
    const { consumer, intake } = await startStored({ committed: -1 })
    await consumer.fetch('t/0', 0, [0, 1])
    expect(intake.follows).toEqual([undefined, 1n])
  })
})

describe('a store that does not answer at a join', () => {
  it('is asked again and again; nothing is consumed, and the group is kept', async () => {
    const { consumer, source, intake } = await startStored({ stored: { 't/0': 9n } })
    intake.isDown = true
    const seeks = consumer.seeks.length
    consumer.join({ t: [0] })
    await intake.untilTold('positions-unknown', 2)
    expect(source.health()).toMatchObject({ ready: false, detail: 'waiting for the stored positions' })
    await consumer.fetch('t/0', 5, [5])
    expect(intake.positions).toEqual([])
    expect(consumer.seeks).toHaveLength(seeks)
    intake.isDown = false
    await eventually(async () => consumer.seeks.length > seeks)
    await consumer.fetch('t/0', 9, [9])
    expect(intake.positions).toEqual(['0@9'])
    expect(source.health().ready).toBe(true)
  })
})

describe('a partition that ends before its stored position', () => {
  it('is held from the start, and an event says what to do', async () => {
    const { consumer, source, intake } = await startStored({ stored: { 't/0': 101n } })
    await intake.untilTold('position-beyond-end')
    expect(intake.told('position-beyond-end')[0]).toMatch(
      /t\/0: the stored position is 101.* ends at 100.*created anew.*release-hold/s,
    )
    expect(consumer.pausedNow).toEqual(new Set(['t/0']))
    expect(source.health()).toMatchObject({ ready: false, detail: expect.stringContaining('t/0 is held') })
    await eventually(async () => intake.held.has('t/0'))
  })

  it('is not consumed while running, nor told to the group; the others go on', async () => {
    const { kafka, consumer, source, intake } = await startStored({ stored: { 't/0': 50n, 't/1': 8n } })
    kafka.bounds.set('t/0', { low: 0n, high: 3n })
    kafka.bounds.set('t/1', { low: 0n, high: 100n })
    consumer.join({ t: [0, 1] })
    await intake.untilTold('position-beyond-end')
    expect(intake.told('position-beyond-end')[0]).toMatch(/t\/0: the stored position is 50.*ends at 3/)
    expect(consumer.pausedNow).toEqual(new Set(['t/0']))
    await Promise.all([consumer.fetch('t/0', 0, [0, 1, 2]), consumer.fetch('t/1', 8, [8])])
    expect(intake.positions).toEqual(['1@8'])
    expect(source.health()).toMatchObject({ ready: false, detail: expect.stringContaining('t/0 is held') })
    settleAll(intake)
    const committed = consumer.commits.length
    await intake.untilSettled(1)
    expect(consumer.commits.slice(committed)).toEqual(['t/1@9'])
  })

  it('is found out by a batch too, and told once', async () => {
    const { kafka, consumer, intake } = await startStored({ stored: { 't/0': 50n } })
    await consumer.fetch('t/0', 50, [50])
    kafka.bounds.set('t/0', { low: 0n, high: 3n })
    await consumer.fetch('t/0', 0, [0])
    await consumer.fetch('t/0', 0, [0])
    expect(intake.told('position-beyond-end')).toHaveLength(1)
    expect(intake.told('truncated')).toEqual([])
    expect(intake.positions).toEqual(['0@50'])
  })

  it('stays held when the partition grows beyond the position, also for the next process', async () => {
    const { kafka, consumer, source, intake } = await startStored({ stored: { 't/0': 50n } })
    kafka.bounds.set('t/0', { low: 0n, high: 3n })
    consumer.join({ t: [0] })
    await eventually(async () => intake.held.has('t/0'))
    kafka.bounds.set('t/0', { low: 0n, high: 500n })
    const reads = intake.reads.length
    await eventually(async () => intake.reads.length > reads + 1)
    expect(consumer.pausedNow).toEqual(new Set(['t/0']))
    await consumer.fetch('t/0', 50, [50, 51])
    expect(intake.positions).toEqual([])
    expect(source.health().ready).toBe(false)
    const next = await startStored({ stored: { 't/0': 50n }, held: intake.held.get('t/0') ?? '' })
    await next.intake.untilTold('position-held')
    expect(next.intake.told('position-held')[0]).toMatch(/t\/0: the stored position is 50.*release-hold/)
    expect(next.consumer.seeks).toEqual([])
    await next.consumer.fetch('t/0', 50, [50])
    expect(next.intake.positions).toEqual([])
    expect(next.source.health().ready).toBe(false)
  })

  it('is consumed again when the last message handled proves that its log is the same', async () => {
    const { kafka, consumer, source, intake } = await startStored({ stored: { 't/0': 50n }, at: 1_000 })
    kafka.bounds.set('t/0', { low: 0n, high: 49n })
    consumer.join({ t: [0] })
    await eventually(async () => intake.held.has('t/0'))
    // It has gone there before: only one seek more says that the partition begins again.
    const seeks = consumer.seeks.length
    kafka.bounds.set('t/0', { low: 0n, high: 50n })
    await eventually(async () => consumer.seeks.length > seeks)
    expect(consumer.seeks.at(-1)).toBe('t/0@49')
    expect(consumer.pausedNow).toEqual(new Set())
    expect(source.health().ready).toBe(false)
    await consumer.fetch('t/0', 49, [49, 50], { timestamps: { 49: 1_000 } })
    expect(intake.held.size).toBe(0)
    expect(intake.positions).toEqual(['0@50'])
    expect(source.health().ready).toBe(true)
    expect(intake.told('position-proven')).toHaveLength(1)
  })

  it('is not ready while its position is read again', async () => {
    const { kafka, consumer, source, intake } = await startStored({ stored: { 't/0': 50n }, at: 1_000 })
    kafka.bounds.set('t/0', { low: 0n, high: 49n })
    consumer.join({ t: [0] })
    await eventually(async () => intake.held.has('t/0') && consumer.pausedNow.size === 1)
    const slow = new Signal()
    let isAnswered = false
    intake.beforeAnswer = () => (consumer.pausedNow.size > 0 ? Promise.resolve() : slow.until(() => isAnswered))
    kafka.bounds.set('t/0', { low: 0n, high: 50n })
    await eventually(async () => consumer.pausedNow.size === 0)
    expect(source.health()).toMatchObject({ ready: false, detail: 'waiting for the stored positions' })
    const seeks = consumer.seeks.length
    isAnswered = true
    slow.notify()
    await eventually(async () => consumer.seeks.length > seeks)
    expect(source.health()).toMatchObject({ ready: false, detail: expect.stringContaining('t/0 is held') })
    await consumer.fetch('t/0', 49, [49, 50], { timestamps: { 49: 1_000 } })
    expect(source.health().ready).toBe(true)
  })

  it('is consumed again when a person has ended the hold', async () => {
    const { consumer, intake } = await startStored({ stored: { 't/0': 50n }, held: 'created anew' })
    await intake.untilTold('position-held')
    intake.held.clear()
    intake.stored.set('t/0', 0n)
    await eventually(async () => consumer.seeks.at(-1) === 't/0@0')
    expect(consumer.pausedNow).toEqual(new Set())
    await consumer.fetch('t/0', 0, [0, 1])
    expect(intake.positions).toEqual(['0@0', '0@1'])
  })

  it('is written down once the store answers', async () => {
    const { kafka, consumer, intake } = await startStored({ stored: { 't/0': 50n } })
    await consumer.fetch('t/0', 50, [50])
    kafka.bounds.set('t/0', { low: 0n, high: 3n })
    intake.isDown = true
    await consumer.fetch('t/0', 0, [0])
    await intake.untilTold('position-beyond-end')
    expect(intake.held.size).toBe(0)
    kafka.bounds.set('t/0', { low: 0n, high: 500n })
    intake.isDown = false
    await eventually(async () => intake.held.has('t/0'))
    expect(consumer.pausedNow).toEqual(new Set(['t/0']))
  })

  it('begins where the group has committed when its row was deleted', async () => {
    const { kafka, consumer, intake } = await startStored({ stored: { 't/0': 50n } })
    kafka.bounds.set('t/0', { low: 0n, high: 3n })
    kafka.committed.set('t/0', -1n)
    consumer.join({ t: [0] })
    await intake.untilTold('position-beyond-end')
    intake.stored.clear()
    await eventually(async () => consumer.pausedNow.size === 0)
    await consumer.fetch('t/0', 0, [0])
    expect(intake.follows).toEqual([undefined])
  })
})

describe('a row that was lost with its database while the partition was consumed', () => {
  it.each([
    ['the group had committed', 5, 5],
    ['the partition begins, as the group had committed nothing', -1, 0],
  ])('makes it begin again where %s when it was joined', async (_case, committed, first) => {
    const { consumer, source, intake } = await startStored({ committed })
    await consumer.fetch('t/0', first, [first, first + 1])
    settleAll(intake)
    await eventually(async () => consumer.commits.includes(`t/0@${first + 2}`))
    await consumer.fetch('t/0', first + 2, [first + 2])
    source.rewind?.('t/0')
    await eventually(async () => consumer.seeks.at(-1) === `t/0@${first}`)
    await consumer.fetch('t/0', first, [first, first + 1, first + 2])
    expect(intake.follows.slice(3)).toEqual([undefined, BigInt(first + 1), BigInt(first + 2)])
    expect(intake.told('truncated')).toEqual([])
  })
})

describe('a stored position that went back while running', () => {
  it('is gone to, and what was delivered before can not be settled', async () => {
    const { consumer, source, intake } = await startStored({ stored: { 't/0': 5n } })
    await consumer.fetch('t/0', 5, [5, 6, 7])
    const [first] = intake.deliveries
    intake.stored.set('t/0', 3n)
    source.rewind?.('t/0')
    expect(first?.standing()).toBe('stale')
    expect(first?.settle()).toBe(false)
    await eventually(async () => consumer.seeks.at(-1) === 't/0@3')
    await consumer.fetch('t/0', 8, [8])
    await consumer.fetch('t/0', 3, [3, 4])
    expect(intake.positions).toEqual(['0@5', '0@6', '0@7', '0@3', '0@4'])
    expect(intake.follows.slice(3)).toEqual([3n, 4n])
    expect(intake.told('position-rewound')).toEqual(['t/0: behind 5'])
    source.rewind?.('t/9')
    expect(intake.told('position-rewound')).toHaveLength(1)
  })
})

describe('a store with positions', () => {
  it.each(['key', 'none'] as const)('is refused with order %s', async (order) => {
    const { opening } = openStored({ options: { order } })
    await expect(opening).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining('order:') })
  })

  it('is taken with order partition', async () => {
    const { opening } = openStored({ options: { order: 'partition' } })
    await expect(opening).resolves.toBeUndefined()
  })
})
