import { eventually } from '../../kit/eventually.ts'
import { RecordingIntake } from '../../kit/recording-intake.ts'
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { type KafkaOptions } from '../../../adapters/kafkajs/index.ts'
import { kafkaSource } from '../../../adapters/kafkajs/source-and-publisher.ts'
import { StoreError } from '../../../src/index.ts'
import { type Source, type StoredPositions } from '../../../src/internal.ts'
import { uniqueName } from '../../kit/namespace.ts'
import { Signal } from '../../kit/signal.ts'
import { ScriptedKafka, type ScriptedConsumer } from '../../kafka/scripted.ts'

/** A pipeline whose store keeps positions. */
class StoredIntake extends RecordingIntake {
  readonly stored: Map<string, bigint>
  /** Times of the messages right before the positions. */
  readonly timestamps: Map<string, number> = new Map()
  readonly held: Map<string, string> = new Map()
  readonly reads: string[] = []
  isDown = false
  /** The store answers after this. */
  beforeAnswer: () => Promise<void> = async () => {}

  constructor(stored: Readonly<Record<string, bigint>>) {
    super()
    this.stored = new Map(Object.entries(stored))
  }

  readonly storedPositions: StoredPositions = {
    next: async (streams) => {
      this.reads.push(streams.join(' '))
      if (this.isDown) throw new StoreError('STORE_UNREACHABLE', 'down')
      await this.beforeAnswer()
      const wanted = [...this.stored].filter(([stream]) => streams.includes(stream))
      return new Map(
        wanted.map(([stream, next]) => [
          stream,
          { next, timestamp: this.timestamps.get(stream), held: this.held.get(stream) },
        ]),
      )
    },
    hold: async (stream, next, why) => {
      if (this.isDown) throw new StoreError('STORE_UNREACHABLE', 'down')
      if (this.stored.get(stream) === next && !this.held.has(stream)) this.held.set(stream, why)
    },
    prove: async (stream, next) => {
      if (this.isDown) throw new StoreError('STORE_UNREACHABLE', 'down')
      if (this.stored.get(stream) === next) this.held.delete(stream)
    },
  }

  get follows(): readonly (bigint | undefined)[] {
    return this.deliveries.map(({ position }) => position?.follows)
  }
}

interface Started {
  readonly kafka: ScriptedKafka
  readonly consumer: ScriptedConsumer
  readonly source: Source
  readonly intake: StoredIntake
}

interface Given {
  readonly committed?: number
  readonly stored?: Readonly<Record<string, bigint>>
  /** When the message right before the stored position came. */
  readonly at?: number
  /** Why the partition is held, in the store. */
  readonly held?: string
  readonly options?: Partial<KafkaOptions>
}

const sources: Source[] = []
afterEach(async () => {
  await Promise.all(sources.splice(0).map((source) => source.close()))
})

/** A source that has joined with partition 0 of `t`, of which the broker has 0 to 100, and gone to where it begins. */
async function start(given: Given): Promise<Started> {
  const { kafka, source, intake, opening } = open(given)
  await opening
  const begins = given.stored?.['t/0'] !== undefined
  await eventually(async () => kafka.newest.seeks.length + kafka.newest.pausedNow.size > 0 || !begins)
  return { kafka, consumer: kafka.newest, source, intake }
}

function open({ committed = 5, stored = {}, at, held, options = {} }: Given): Omit<Started, 'consumer'> & {
  readonly opening: Promise<void>
} {
  const kafka = new ScriptedKafka()
  kafka.topics.push('t')
  kafka.bounds.set('t/0', { low: 0n, high: 100n })
  kafka.committed.set('t/0', BigInt(committed))
  const { source } = kafkaSource(kafka, { topics: ['t'], group: uniqueName('group'), commitEveryMs: 5, ...options })
  sources.push(source)
  const intake = new StoredIntake(stored)
  if (at !== undefined) intake.timestamps.set('t/0', at)
  if (held !== undefined) intake.held.set('t/0', held)
  return { kafka, source, intake, opening: source.open(intake) }
}

const settleAll = (intake: RecordingIntake): void => {
  for (const delivery of intake.deliveries) delivery.settle()
}

describe('a partition with a stored position', () => {
  it.each([
    ['above what the group has committed', 9n, 5],
    ['below it: its database was restored', 3n, 5],
    ['where the group has committed nothing', 9n, -1],
    ['where kafkajs has reset the group', 9n, -2],
  ])('begins there, %s, and says so', async (_case, stored, committed) => {
    const { consumer, intake } = await start({ committed, stored: { 't/0': stored } })
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
    const { source, consumer, intake } = await start({ committed: 1_000, stored: { 't/0': 5n } })
    await consumer.fetch('t/0', 5, [5, 6])
    settleAll(intake)
    await source.close()
    expect(consumer.commits.at(-1)).toBe('t/0@7')
  })

  it('begins there without a word where the group has committed the same', async () => {
    const { consumer, intake } = await start({ stored: { 't/0': 5n } })
    await consumer.fetch('t/0', 5, [5])
    settleAll(intake)
    await intake.untilSettled(1)
    expect(consumer.commits.at(-1)).toBe('t/0@6') // On a busy machine the 5 was committed once more.
    expect(intake.told('position-sought')).toEqual([])
  })

  it('is told to the group, as information', async () => {
    const { consumer } = await start({ stored: { 't/0': 9n } })
    await eventually(async () => consumer.commitsWithoutPayload.length > 0)
    expect(consumer.commitsWithoutPayload).toContain('t/0@9')
  })

  it('is read once for all partitions of a join, and for the last of a storm of them', async () => {
    const { kafka, consumer, intake } = await start({ stored: { 't/0': 5n, 't/1': 8n } })
    kafka.bounds.set('t/1', { low: 0n, high: 100n })
    const before = intake.reads.length
    for (let join = 0; join < 100; join++) consumer.join({ t: [0, 1] })
    await Promise.all([consumer.fetch('t/0', 5, [5]), consumer.fetch('t/1', 8, [8])])
    expect(intake.positions.toSorted()).toEqual(['0@5', '1@8'])
    expect(intake.reads.slice(before).filter((read) => read === 't/0 t/1').length).toBeLessThanOrEqual(2)
  })

  it('takes a batch that was under way from there, and its own seek coming after that for no reset', async () => {
    const { consumer, intake } = await start({ stored: { 't/0': 5n } })
    await consumer.fetch('t/0', 5, [5, 6])
    await consumer.fetch('t/0', 5, [5, 6])
    expect(intake.positions).toEqual(['0@5', '0@6'])
    expect(consumer.seeks.at(-1)).toBe('t/0@7')
    expect(intake.told('offset-reset')).toEqual([])
    await consumer.fetch('t/0', 3, [3])
    expect(intake.told('offset-reset')).toEqual(['t/0: expected 7, got 3'])
  })

  it('tells what the broker has deleted, as ever', async () => {
    const { kafka, consumer, intake } = await start({ stored: { 't/0': 5n } })
    kafka.bounds.set('t/0', { low: 20n, high: 100n })
    await consumer.fetch('t/0', 20, [20, 21])
    expect(intake.told('lost-by-retention')).toEqual(['t/0: expected 5, got 20'])
    expect(intake.follows).toEqual([5n, 21n])
  })

  it('steps over transaction markers without taking them for something before a message', async () => {
    const { consumer, intake } = await start({ stored: { 't/0': 5n } })
    await consumer.fetch('t/0', 5, [5], 6)
    await consumer.fetch('t/0', 7, [9])
    consumer.control('t/0', 10, 11)
    await consumer.fetch('t/0', 12, [12])
    expect(intake.positions).toEqual(['0@5', '0@9', '0@12'])
    expect(intake.follows).toEqual([5n, 6n, 10n])
  })

  it('is handled in its order', async () => {
    const { consumer, intake } = await start({ stored: { 't/0': 5n } })
    await consumer.fetch('t/0', 5, [5, 6])
    expect(intake.deliveries.map(({ lane }) => lane)).toEqual(['t/0', 't/0'])
  })
})

describe('a partition without a stored position', () => {
  it('begins where the group has committed', async () => {
    const { consumer, intake } = await start({ committed: 5 })
    await consumer.fetch('t/0', 5, [5, 6])
    expect(intake.follows).toEqual([undefined, 6n])
    expect(consumer.seeks).toEqual([])
  })

  it('begins at its beginning where that is nothing', async () => {
    const { consumer, intake } = await start({ committed: -1 })
    await consumer.fetch('t/0', 0, [0, 1])
    expect(intake.follows).toEqual([undefined, 1n])
  })
})

describe('a store that does not answer at a join', () => {
  it('is asked again and again; nothing is consumed, and the group is kept', async () => {
    const { consumer, source, intake } = await start({ stored: { 't/0': 9n } })
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
    const { consumer, source, intake } = await start({ stored: { 't/0': 101n } })
    await intake.untilTold('position-beyond-end')
    expect(intake.told('position-beyond-end')[0]).toMatch(
      /t\/0: the stored position is 101.* ends at 100.*created anew.*release-hold/s,
    )
    expect(consumer.pausedNow).toEqual(new Set(['t/0']))
    expect(source.health()).toMatchObject({ ready: false, detail: expect.stringContaining('t/0 is held') })
    await eventually(async () => intake.held.has('t/0'))
  })

  it('is not consumed while running, nor told to the group; the others go on', async () => {
    const { kafka, consumer, source, intake } = await start({ stored: { 't/0': 50n, 't/1': 8n } })
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
    const { kafka, consumer, intake } = await start({ stored: { 't/0': 50n } })
    await consumer.fetch('t/0', 50, [50])
    kafka.bounds.set('t/0', { low: 0n, high: 3n })
    await consumer.fetch('t/0', 0, [0])
    await consumer.fetch('t/0', 0, [0])
    expect(intake.told('position-beyond-end')).toHaveLength(1)
    expect(intake.told('truncated')).toEqual([])
    expect(intake.positions).toEqual(['0@50'])
  })

  it('stays held when the partition grows beyond the position, also for the next process', async () => {
    const { kafka, consumer, source, intake } = await start({ stored: { 't/0': 50n } })
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
    const next = await start({ stored: { 't/0': 50n }, held: intake.held.get('t/0') ?? '' })
    await next.intake.untilTold('position-held')
    expect(next.intake.told('position-held')[0]).toMatch(/t\/0: the stored position is 50.*release-hold/)
    expect(next.consumer.seeks).toEqual([])
    await next.consumer.fetch('t/0', 50, [50])
    expect(next.intake.positions).toEqual([])
    expect(next.source.health().ready).toBe(false)
  })

  it('is consumed again when the last message handled proves that its log is the same', async () => {
    const { kafka, consumer, source, intake } = await start({ stored: { 't/0': 50n }, at: 1_000 })
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
    const { kafka, consumer, source, intake } = await start({ stored: { 't/0': 50n }, at: 1_000 })
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
    const { consumer, intake } = await start({ stored: { 't/0': 50n }, held: 'created anew' })
    await intake.untilTold('position-held')
    intake.held.clear()
    intake.stored.set('t/0', 0n)
    await eventually(async () => consumer.seeks.at(-1) === 't/0@0')
    expect(consumer.pausedNow).toEqual(new Set())
    await consumer.fetch('t/0', 0, [0, 1])
    expect(intake.positions).toEqual(['0@0', '0@1'])
  })

  it('is written down once the store answers', async () => {
    const { kafka, consumer, intake } = await start({ stored: { 't/0': 50n } })
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
    const { kafka, consumer, intake } = await start({ stored: { 't/0': 50n } })
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
    const { consumer, source, intake } = await start({ committed })
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

describe('a stored position with the time of the message before it', () => {
  it('begins at that message, which proves the log, and is not delivered again', async () => {
    const { consumer, intake } = await start({ stored: { 't/0': 9n }, at: 1_000 })
    expect(consumer.seeks).toEqual(['t/0@8'])
    await consumer.fetch('t/0', 8, [8, 9, 10], { timestamps: { 8: 1_000, 9: 2_000 } })
    expect(intake.positions).toEqual(['0@9', '0@10'])
    expect(intake.follows).toEqual([9n, 10n])
    settleAll(intake)
    await intake.untilSettled(2)
    expect(consumer.commits.at(-1)).toBe('t/0@11')
  })

  it('is told to the group when the partition has nothing new', async () => {
    const { consumer, intake } = await start({ stored: { 't/0': 9n }, at: 1_000 })
    await consumer.fetch('t/0', 8, [8], { timestamps: { 8: 1_000 } })
    await eventually(async () => consumer.commits.includes('t/0@9'))
    expect(intake.positions).toEqual([])
    expect(intake.told('position-held')).toEqual([])
  })

  it('is held where that message is another one: the topic was created anew, and has grown beyond it', async () => {
    const { consumer, source, intake } = await start({ stored: { 't/0': 9n }, at: 1_000 })
    await consumer.fetch('t/0', 8, [8, 9, 10], { timestamps: { 8: 5_000 } })
    await eventually(async () => intake.held.has('t/0'))
    expect(intake.told('position-of-another-log')[0]).toMatch(/t\/0: the message at 8.*another one.*release-hold/)
    expect(intake.positions).toEqual([])
    expect(consumer.pausedNow).toEqual(new Set(['t/0']))
    expect(source.health().ready).toBe(false)
    await consumer.fetch('t/0', 8, [8, 9, 10], { timestamps: { 8: 5_000 } })
    expect(intake.positions).toEqual([])
    expect(consumer.commits.length + consumer.commitsWithoutPayload.length).toBe(0)
  })

  it.each([
    ['was compacted away', [11, 12]],
    ['has no time', [8, 11]],
  ])('goes on where that message %s', async (_case, offsets) => {
    const { consumer, intake } = await start({ stored: { 't/0': 9n }, ...(offsets[0] === 8 ? {} : { at: 1_000 }) })
    await consumer.fetch('t/0', Number(consumer.seeks[0]?.split('@')[1]), offsets.slice(offsets[0] === 8 ? 1 : 0))
    expect(intake.positions.at(-1)).toBe(`0@${offsets.at(-1)}`)
    expect(intake.held.size).toBe(0)
  })

  it('goes to the position itself where that message was deleted by retention, and reports no loss', async () => {
    const { kafka, intake, opening } = open({ stored: { 't/0': 9n }, at: 1_000 })
    kafka.bounds.set('t/0', { low: 9n, high: 9n })
    await opening
    await eventually(async () => kafka.newest.seeks.length > 0)
    expect(kafka.newest.seeks).toEqual(['t/0@9'])
    await kafka.newest.fetch('t/0', 9, [9])
    expect(intake.positions).toEqual(['0@9'])
    expect(intake.told('lost-by-retention')).toEqual([])
  })

  it('is looked at again after kafkajs began the partition anew in the middle of its work', async () => {
    const { consumer, intake } = await start({ stored: { 't/0': 9n }, at: 1_000 })
    await consumer.fetch('t/0', 8, [8, 9, 10], { timestamps: { 8: 1_000, 10: 3_000 } })
    await consumer.fetch('t/0', 0, [0, 1])
    expect(consumer.seeks.at(-1)).toBe('t/0@10')
    await consumer.fetch('t/0', 10, [10, 11, 12], { timestamps: { 10: 7_000 } })
    await eventually(async () => intake.held.has('t/0'))
    expect(intake.positions).toEqual(['0@9', '0@10'])
  })
})

/** Has handed over 9 and 10, and then not fetched for a while. */
async function lookedAway(at = 1_000): Promise<Started> {
  const started = await start({ stored: { 't/0': 9n }, at })
  await started.consumer.fetch('t/0', 8, [8, 9, 10], { timestamps: { 8: at, 9: 2_000, 10: 3_000 } })
  return started
}

describe('a log that nobody looked at for a while', () => {
  const pauses: [string, (started: Started) => unknown][] = [
    [
      'a pause',
      ({ source }) => {
        source.pause()
        source.resume()
      },
    ],
    ['a fetch that failed', ({ consumer }) => (consumer.fetchFails = true)],
    [
      'messages that took more than a second',
      () => {
        const now = performance.now.bind(performance)
        jest.spyOn(performance, 'now').mockImplementation(() => now() + 1_500)
      },
    ],
  ]
  afterEach(() => {
    jest.restoreAllMocks()
  })

  it.each(pauses)(
    'is compared by the last message received after %s, and held where it is another',
    async (_, pause) => {
      const started = await lookedAway()
      const { consumer, intake } = started
      await pause(started)
      await eventually(async () => consumer.seeks.at(-1) === 't/0@10')
      await consumer.fetch('t/0', 10, [10, 11, 12], { timestamps: { 10: 7_000 } })
      await eventually(async () => intake.held.has('t/0'))
      expect(intake.told('position-of-another-log')[0]).toMatch(/t\/0: the message at 10/)
      expect(intake.positions).toEqual(['0@9', '0@10'])
    },
  )

  it.each(pauses)('goes on after %s where that message is the same, and delivers it once', async (_, pause) => {
    const started = await lookedAway()
    const { consumer, intake } = started
    await pause(started)
    await eventually(async () => consumer.seeks.at(-1) === 't/0@10')
    const seeks = consumer.seeks.length
    // What was on its way already.
    await consumer.fetch('t/0', 11, [11, 12])
    expect(consumer.seeks.slice(seeks)).toEqual(['t/0@10'])
    await consumer.fetch('t/0', 10, [10, 11, 12], { timestamps: { 10: 3_000 } })
    expect(intake.positions).toEqual(['0@9', '0@10', '0@11', '0@12'])
    expect(intake.follows).toEqual([9n, 10n, 11n, 12n])
    settleAll(intake)
    await eventually(async () => consumer.commits.at(-1) === 't/0@13')
    expect([intake.told('offset-skipped'), intake.told('offset-reset'), intake.held.size]).toEqual([[], [], 0])
  })

  it('is compared by the message before the stored position where nothing was received since', async () => {
    const { source, consumer, intake } = await start({ stored: { 't/0': 9n }, at: 1_000 })
    await consumer.fetch('t/0', 8, [8], { timestamps: { 8: 1_000 } })
    const seeks = consumer.seeks.length
    source.pause()
    source.resume()
    expect(consumer.seeks.slice(seeks)).toEqual(['t/0@8'])
    await consumer.fetch('t/0', 8, [8, 9], { timestamps: { 8: 7_000 } })
    await eventually(async () => intake.held.has('t/0'))
    expect(intake.positions).toEqual([])
  })

  it('goes on where the last message received was deleted by retention meanwhile, without a finding', async () => {
    const { kafka, source, consumer, intake } = await lookedAway()
    settleAll(intake)
    await eventually(async () => consumer.commits.at(-1) === 't/0@11')
    source.pause()
    source.resume()
    kafka.bounds.set('t/0', { low: 11n, high: 100n })
    await consumer.fetch('t/0', 11, [11])
    expect(intake.positions).toEqual(['0@9', '0@10', '0@11'])
    expect([intake.told('lost-by-retention'), intake.held.size]).toEqual([[], 0])
    // kafkajs has committed -2 meanwhile.
    await eventually(async () => consumer.commits.filter((one) => one === 't/0@11').length > 1)
  })

  it('costs nothing where batch follows batch', async () => {
    const { consumer, intake } = await lookedAway()
    const seeks = consumer.seeks.length
    for (let next = 11; next < 20; next++) await consumer.fetch('t/0', next, [next], { timestamps: { [next]: 4_000 } })
    expect(consumer.seeks).toHaveLength(seeks)
    expect(intake.positions).toHaveLength(11)
  })
})

describe('a stored position that went back while running', () => {
  it('is gone to, and what was delivered before can not be settled', async () => {
    const { consumer, source, intake } = await start({ stored: { 't/0': 5n } })
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
    const { opening } = open({ options: { order } })
    await expect(opening).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining('order:') })
  })

  it('is taken with order partition', async () => {
    const { opening } = open({ options: { order: 'partition' } })
    await expect(opening).resolves.toBeUndefined()
  })
})
