import { eventually } from '../../kit/eventually.ts'
import { RecordingIntake } from '../../kit/recording-intake.ts'
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, describe, expect, it } from '@jest/globals'
import { kafkaSource, type KafkaOptions } from '../../../adapters/kafkajs/index.ts'
import type { Source } from '../../../src/spi.ts'
import { uniqueName } from '../../kit/namespace.ts'
import { ScriptedKafka, type ScriptedConsumer } from '../../kafka/scripted.ts'

interface Started {
  readonly kafka: ScriptedKafka
  readonly consumer: ScriptedConsumer
  readonly source: Source
  readonly intake: RecordingIntake
}

const started: Source[] = []
afterEach(async () => {
  await Promise.all(started.splice(0).map((source) => source.close()))
})

/** A source that has joined with partition 0 of `t`, of which the broker has 0 to 100. */
async function start(committed: number | undefined, options: Partial<KafkaOptions> = {}): Promise<Started> {
  const kafka = new ScriptedKafka()
  kafka.topics.push('t')
  kafka.bounds.set('t/0', { low: 0n, high: 100n })
  if (committed !== undefined) kafka.committed.set('t/0', BigInt(committed))
  const { source } = kafkaSource(kafka, { topics: ['t'], group: uniqueName('group'), commitEveryMs: 5, ...options })
  started.push(source)
  const intake = new RecordingIntake()
  await source.open(intake)
  return { kafka, consumer: kafka.newest, source, intake }
}

const settleAll = (intake: RecordingIntake): void => {
  for (const delivery of intake.deliveries) delivery.settle()
}

describe('the first batch of an epoch', () => {
  it('is taken at the committed offset, which is read once for all partitions of a join', async () => {
    const { kafka, consumer, intake } = await start(5)
    kafka.committed.set('t/1', 8n)
    consumer.join({ t: [0, 1] })
    await Promise.all([consumer.fetch('t/0', 5, [5, 6]), consumer.fetch('t/1', 8, [9])])
    expect(intake.positions.toSorted()).toEqual(['0@5', '0@6', '1@9'])
    expect(consumer.resolved.toSorted()).toEqual(['t/0@6', 't/1@9'])
    expect(kafka.asked).toEqual({ committed: 2, bounds: 0 })
  })

  it('of a storm of joins is read for the last of them', async () => {
    const { kafka, consumer, intake } = await start(5)
    for (let join = 0; join < 100; join++) consumer.join({ t: [0] })
    await consumer.fetch('t/0', 5, [5])
    expect(kafka.asked.committed).toBe(2) // Once before the first join.
    expect(intake.positions).toEqual(['0@5'])
  })

  it('is dropped when it was skipped to by a fetch from before the join, and read from the committed offset (K9)', async () => {
    const { consumer, intake } = await start(2)
    await consumer.fetch('t/0', 10, [10, 11])
    expect(intake.positions).toEqual([])
    expect(consumer.resolved).toEqual([])
    expect(consumer.seeks).toEqual(['t/0@2'])
    expect(intake.told('offset-skipped')).toEqual(['t/0: expected 2, got 10'])

    await consumer.fetch('t/0', 2, [2, 3])
    expect(intake.positions).toEqual(['0@2', '0@3'])
  })

  it('is never taken below what this process committed, though the group says so (K1, K10)', async () => {
    const { kafka, consumer, intake } = await start(0)
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
    const { kafka, consumer, intake } = await start(-1)
    kafka.bounds.set('t/0', { low: 4n, high: 100n })
    await consumer.fetch('t/0', 7, [7])
    expect(consumer.seeks).toEqual(['t/0@4'])
    await consumer.fetch('t/0', 4, [4])
    expect(intake.positions).toEqual(['0@4'])
  })

  it('comes again while the broker does not tell the offsets', async () => {
    const { kafka, consumer, intake } = await start(5)
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
    const { kafka, consumer, intake } = await start(0)
    await consumer.fetch('t/0', 0, [0])
    await consumer.fetch('t/0', 1, [40])
    expect(intake.positions).toEqual(['0@0', '0@40'])
    expect(kafka.asked.bounds).toBe(0)
    settleAll(intake)
    await eventually(async () => consumer.commits.includes('t/0@41'))
  })

  it('that fell back is a reset: dropped, told, sought, and the group put right (K10)', async () => {
    const { consumer, intake } = await start(5)
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
    const { kafka, consumer, intake } = await start(5)
    await consumer.fetch('t/0', 5, [5])
    kafka.bounds.set('t/0', { low: 20n, high: 100n })
    await consumer.fetch('t/0', 20, [20])
    expect(intake.told('lost-by-retention')).toEqual(['t/0: expected 6, got 20'])
    settleAll(intake)
    await eventually(async () => consumer.commits.at(-1) === 't/0@21')
    expect(intake.positions).toEqual(['0@5', '0@20'])
  })

  it('of a topic that was re-created starts it anew: what was committed of the old one means nothing', async () => {
    const { kafka, consumer, intake } = await start(50)
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
    const { kafka, consumer, intake } = await start(50, { maxWatermarkLag: 2 })
    await consumer.fetch('t/0', 50, [50, 51, 52])
    expect([...consumer.pausedNow]).toEqual(['t/0'])
    kafka.bounds.set('t/0', { low: 0n, high: 3n })
    await consumer.fetch('t/0', 0, [0])
    expect(intake.told('truncated')).toHaveLength(1)
    expect([...consumer.pausedNow]).toEqual([])
  })

  it('of a re-created topic is not held back by a commit of the old one that was under way', async () => {
    const { kafka, consumer, intake } = await start(50)
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
    const { consumer, intake } = await start(0)
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
    const { consumer, intake } = await start(0)
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
    const { consumer, intake } = await start(0)
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
    const { consumer, intake } = await start(5)
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
    const { consumer, intake } = await start(5)
    consumer.onResolve = () => {
      throw new TypeError("Cannot set properties of undefined (setting '0')")
    }
    await consumer.fetch('t/0', 5, [5])
    expect(intake.positions).toEqual(['0@5'])
    expect(intake.told('adapter-error')).toEqual([])
  })
})

/** Has handed over 5 and 6, of times that the broker told. */
async function received(): Promise<Started> {
  const given = await start(5)
  await given.consumer.fetch('t/0', 5, [5, 6], { timestamps: { 5: 1_000, 6: 2_000 } })
  return given
}

const pauses: [string, (given: Started) => void][] = [
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
async function joinedAgain(): Promise<Started> {
  const given = await received()
  given.intake.at('0@5').settle()
  await eventually(async () => given.consumer.commits.at(-1) === 't/0@6')
  given.kafka.committed.set('t/0', -2n)
  given.consumer.join({ t: [0] })
  return given
}

describe('a topic in which kafkajs did not find its position, before the group joined again', () => {
  it('is read whole if the last message received is another one now', async () => {
    const { consumer, intake } = await joinedAgain()
    await consumer.fetch('t/0', 0, [0, 1])
    expect(consumer.seeks.at(-1)).toBe('t/0@6')
    await consumer.fetch('t/0', 6, [6, 7], { timestamps: { 6: 7_000 } })
    expect(intake.told('truncated')).toEqual(['t/0: the message at 6 is another one now'])
    expect(consumer.seeks.at(-1)).toBe('t/0@0')
    await consumer.fetch('t/0', 0, [0, 1, 2])
    expect(intake.positions).toEqual(['0@5', '0@6', '0@0', '0@1', '0@2'])
    settleAll(intake)
    await eventually(async () => consumer.commits.at(-1) === 't/0@3')
  })

  it.each([
    ['is the same', { 6: 2_000 }, [6, 7]],
    ['was removed by compaction', {}, [7]],
  ])('goes on where this process had committed if that message %s', async (_, timestamps, found) => {
    const { consumer, intake } = await joinedAgain()
    await consumer.fetch('t/0', 0, [0, 1])
    await consumer.fetch('t/0', 6, found, { timestamps })
    expect(intake.positions).toEqual(['0@5', '0@6'])
    expect(consumer.seeks).toEqual(['t/0@6', 't/0@6'])
    await consumer.fetch('t/0', 6, [6, 7])
    expect(intake.positions).toEqual(['0@5', '0@6', '0@6', '0@7'])
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
    const { kafka, consumer, intake } = await start(5)
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

function copyOf(origin: string, group: string): Record<string, string> {
  return { 'x-original-topic': origin, 'x-consumer-group': group }
}

describe('a retry topic whose default name is that of another group too', () => {
  it('gives only the copies of this group; the others are told, and left to their group', async () => {
    const kafka = new ScriptedKafka()
    kafka.topics.push('a', 'a.b.c.retry-1')
    for (const topic of kafka.topics) kafka.committed.set(`${topic}/0`, 0n)
    kafka.onRun = (consumer) => consumer.join({ a: [0], 'a.b.c.retry-1': [0] })
    const retry = { topics: [{ delayMs: 1 }] }
    const { source } = kafkaSource(kafka, { topics: ['a'], group: 'b.c', retry, commitEveryMs: 5 })
    started.push(source)
    const intake = new RecordingIntake()
    await source.open(intake)
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
    const { consumer } = await start(0)
    consumer.control('t/0', 0, 3)
    await eventually(async () => consumer.commitsWithoutPayload.length > 0)
    expect(consumer.commitsWithoutPayload).toContain('t/0@4')
    await consumer.fetch('t/0', 4, [4])
    expect(consumer.commits).toEqual([])
  })

  it('never carry the watermark over messages that were skipped [T76]', async () => {
    const { consumer, intake } = await start(2)
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
    const { consumer } = await start(2)
    consumer.control('t/0', 10, 11)
    await eventually(async () => consumer.seeks.length > 0)
    consumer.control('t/0', 10, 11)
    await eventually(async () => consumer.commitsWithoutPayload.includes('t/0@12'))
    expect(consumer.seeks).toEqual(['t/0@2'])
  })

  it('wait for the decision on those before them', async () => {
    const { consumer, intake } = await start(0)
    consumer.control('t/0', 0, 1)
    consumer.control('t/0', 2, 3)
    await consumer.fetch('t/0', 4, [4])
    expect(intake.positions).toEqual(['0@4'])
    expect(consumer.seeks).toEqual([])
  })
})

describe('a commit', () => {
  it('goes out once for what did not change, and never lower', async () => {
    const { consumer, intake } = await start(0)
    await consumer.fetch('t/0', 0, [0, 1])
    settleAll(intake)
    await intake.untilSettled(2)
    consumer.join({ t: [0] }) // The group still says 0: a commit of it would be one backwards.
    await consumer.fetch('t/0', 2, [2])
    await consumer.fetch('t/0', 2, [2])
    await consumer.fetch('t/0', 3, [3])
    settleAll(intake)
    await eventually(async () => consumer.commits.includes('t/0@4'))
    expect(consumer.commits).toEqual(['t/0@2', ...consumer.commits.slice(1)])
    const offsets = consumer.commits.map((commit) => Number(commit.split('@')[1]))
    expect(offsets).toEqual(offsets.toSorted((a, b) => a - b))
  })

  it.each(['ILLEGAL_GENERATION', 'UNKNOWN_MEMBER_ID', 'REBALANCE_IN_PROGRESS'])(
    'refused with %s waits for the next join, and nothing dies of it [T79]',
    async (type) => {
      const { kafka, consumer, intake } = await start(0)
      let refusals = 0
      consumer.onCommit = async () => {
        refusals++
        throw Object.assign(new Error('refused'), { type })
      }
      await consumer.fetch('t/0', 0, [0])
      settleAll(intake)
      await intake.untilTold('commit-refused')
      expect(intake.told('commit-refused')[0]).toContain(`${type}: t/0@1`)
      await new Promise((resolve) => setTimeout(resolve, 40)) // Eight ticks.
      expect(refusals).toBe(1)
      consumer.onCommit = async () => {}
      consumer.join({ t: [0] })
      await consumer.fetch('t/0', 0, [0])
      settleAll(intake)
      await eventually(async () => consumer.commits.length > 0)
      expect(consumer.commits).toEqual(['t/0@1'])
      expect(kafka.consumers).toHaveLength(1)
    },
  )

  it.each(['NOT_COORDINATOR_FOR_GROUP', 'GROUP_LOAD_IN_PROGRESS', 'REQUEST_TIMED_OUT'])(
    'refused with %s is sent again: no join follows',
    async (type) => {
      const { consumer, intake } = await start(0)
      let refusals = 0
      consumer.onCommit = async () => {
        if (refusals++ < 3) throw Object.assign(new Error('wrapped'), { cause: { type } })
      }
      await consumer.fetch('t/0', 0, [0])
      settleAll(intake)
      await intake.untilSettled(1)
      expect(intake.told('commit-refused')).toHaveLength(3)
      expect(consumer.commits).toEqual(['t/0@1'])
    },
  )

  it('refused late, after a join, does not hold back the new epoch', async () => {
    const { consumer, intake } = await start(0)
    let refuse: (() => void) | undefined
    consumer.onCommit = () =>
      new Promise((_resolve, reject) => {
        refuse = () => reject(Object.assign(new Error('late'), { type: 'ILLEGAL_GENERATION' }))
      })
    await consumer.fetch('t/0', 0, [0])
    settleAll(intake)
    await eventually(async () => refuse !== undefined)
    consumer.onCommit = async () => {}
    consumer.join({ t: [0] })
    refuse?.()
    await consumer.fetch('t/0', 0, [0])
    settleAll(intake)
    await eventually(async () => consumer.commits.length > 0)
    expect(consumer.commits).toEqual(['t/0@1'])
  })

  it('goes out when the one before it is answered', async () => {
    const { consumer, intake } = await start(0)
    const answers: (() => void)[] = []
    consumer.onCommit = () => new Promise((resolve) => answers.push(resolve))
    await consumer.fetch('t/0', 0, [0, 1])
    intake.at('0@0').settle()
    await eventually(async () => answers.length > 0)
    intake.at('0@1').settle()
    await new Promise((resolve) => setTimeout(resolve, 40)) // Eight ticks.
    expect(answers).toHaveLength(1)
    answers[0]?.()
    await eventually(async () => answers.length === 2)
    answers[1]?.()
    await intake.untilSettled(2)
    expect(consumer.commits).toEqual(['t/0@1', 't/0@2'])
  })

  it('of an earlier epoch, accepted late, is no reason to commit less in the new one', async () => {
    const { consumer, intake } = await start(0)
    let answer: (() => void) | undefined
    consumer.onCommit = () => new Promise((resolve) => (answer = resolve))
    await consumer.fetch('t/0', 0, [0, 1, 2])
    settleAll(intake)
    await eventually(async () => answer !== undefined)
    consumer.onCommit = async () => {}
    consumer.join({ t: [0] })
    await consumer.fetch('t/0', 0, [0, 1, 2, 3]) // The group still told 0.
    answer?.()
    await intake.untilSettled(3)
    intake.at('0@0').settle()
    await new Promise((resolve) => setTimeout(resolve, 40)) // Eight ticks.
    expect(consumer.commits).toEqual(['t/0@3'])
    settleAll(intake)
    await eventually(async () => consumer.commits.length > 1)
    expect(consumer.commits).toEqual(['t/0@3', 't/0@4'])
  })

  it('of what is ready goes out before a rebalance, in the same turn', async () => {
    const { consumer, intake } = await start(0, { commitEveryMs: 60_000 })
    await consumer.fetch('t/0', 0, [0, 1])
    intake.at('0@0').settle()
    consumer.emit('rebalancing')
    expect(intake.at('0@1').standing()).toBe('stale')
    expect(intake.at('0@1').settle()).toBe(false)
    await turn()
    expect(consumer.commits).toEqual(['t/0@1'])
  })
})
