import { afterEach, describe, expect, it } from '@jest/globals'
import { kafkaBroker, type KafkaOptions } from '../../adapters/kafkajs/index.ts'
import { StoreError, type Source } from '../../src/index.ts'
import { uniqueName } from '../support/namespace.ts'
import { eventually, RecordingIntake } from './kafkajs-kit.ts'
import { ScriptedKafka, type ScriptedConsumer } from './kafkajs-scripted.ts'

/** A pipeline whose store keeps positions. */
class StoredIntake extends RecordingIntake {
  readonly stored: Map<string, bigint>
  readonly reads: string[] = []
  isDown = false

  constructor(stored: Readonly<Record<string, bigint>>) {
    super()
    this.stored = new Map(Object.entries(stored))
  }

  readonly storedPositions = async (streams: readonly string[]): Promise<ReadonlyMap<string, bigint>> => {
    this.reads.push(streams.join(' '))
    if (this.isDown) throw new StoreError('STORE_UNREACHABLE', 'down')
    return new Map([...this.stored].filter(([stream]) => streams.includes(stream)))
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
  readonly options?: Partial<KafkaOptions>
}

const sources: Source[] = []
afterEach(async () => {
  await Promise.all(sources.splice(0).map((source) => source.close()))
})

/** A source that has joined with partition 0 of `t`, of which the broker has 0 to 100, and gone to where it begins. */
async function start({ committed = 5, stored = {}, options = {} }: Given): Promise<Started> {
  const { kafka, source, intake, opening } = open({ committed, stored, options })
  await opening
  await eventually(async () => kafka.newest.seeks.length > 0 || stored['t/0'] === undefined)
  return { kafka, consumer: kafka.newest, source, intake }
}

function open({ committed = 5, stored = {}, options = {} }: Given): Omit<Started, 'consumer'> & {
  readonly opening: Promise<void>
} {
  const kafka = new ScriptedKafka()
  kafka.topics.push('t')
  kafka.bounds.set('t/0', { low: 0n, high: 100n })
  kafka.committed.set('t/0', BigInt(committed))
  const { source } = kafkaBroker(kafka, { topics: ['t'], groupId: uniqueName('group'), commitEveryMs: 5, ...options })
  sources.push(source)
  const intake = new StoredIntake(stored)
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

  it('begins there without a word where the group has committed the same', async () => {
    const { consumer, intake } = await start({ stored: { 't/0': 5n } })
    await consumer.fetch('t/0', 5, [5])
    settleAll(intake)
    await intake.untilSettled(1)
    expect(consumer.commits).toEqual(['t/0@6'])
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

  it('ends the start', async () => {
    const { intake, opening } = open({ stored: {} })
    intake.isDown = true
    await expect(opening).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' })
  })
})

describe('a partition that ends before its stored position', () => {
  it('is refused at the start, with what to do', async () => {
    const { kafka, opening } = open({ stored: { 't/0': 101n } })
    await expect(opening).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(/t\/0: the stored position is 101.* ends at 100.*another scope.*delete the row/s),
    })
    expect(kafka.consumers).toHaveLength(0)
  })

  it('is not refused where its leader only needed a moment', async () => {
    const { kafka, opening } = open({ stored: { 't/0': 101n } })
    await eventually(async () => kafka.asked.bounds >= 2)
    kafka.bounds.set('t/0', { low: 0n, high: 101n })
    await opening
    expect(kafka.newest.seeks).toContain('t/0@101')
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
    expect(source.health()).toMatchObject({ ready: false, detail: 't/0: stored beyond the end' })
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

  it('is consumed again by itself once it reaches to it', async () => {
    const { kafka, consumer, source, intake } = await start({ stored: { 't/0': 50n } })
    kafka.bounds.set('t/0', { low: 0n, high: 49n })
    consumer.join({ t: [0] })
    await intake.untilTold('position-beyond-end')
    kafka.bounds.set('t/0', { low: 0n, high: 50n })
    await eventually(async () => consumer.pausedNow.size === 0)
    await consumer.fetch('t/0', 50, [50])
    expect(intake.positions).toEqual(['0@50'])
    expect(source.health().ready).toBe(true)
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
