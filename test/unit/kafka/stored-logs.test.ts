import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { eventually } from '../../kit/eventually.ts'
import { closeSources, settleAll } from './joined-source.ts'
import { openStored, startStored, type Started } from './stored-source.ts'

afterEach(closeSources)

function pauseAndResume({ source }: Pick<Started, 'source'>): void {
  source.pause()
  source.resume()
}

describe('a stored position with the time of the message before it', () => {
  it('begins at that message, which proves the log, and is not delivered again', async () => {
    const { consumer, intake } = await startStored({ stored: { 't/0': 9n }, at: 1_000 })
    expect(consumer.seeks).toEqual(['t/0@8'])
    await consumer.fetch('t/0', 8, [8, 9, 10], { timestamps: { 8: 1_000, 9: 2_000 } })
    expect(intake.positions).toEqual(['0@9', '0@10'])
    expect(intake.follows).toEqual([9n, 10n])
    settleAll(intake)
    await intake.untilSettled(2)
    expect(consumer.commits.at(-1)).toBe('t/0@11')
  })

  it('is told to the group when the partition has nothing new', async () => {
    const { consumer, intake } = await startStored({ stored: { 't/0': 9n }, at: 1_000 })
    await consumer.fetch('t/0', 8, [8], { timestamps: { 8: 1_000 } })
    await eventually(async () => consumer.commits.includes('t/0@9'))
    expect(intake.positions).toEqual([])
    expect(intake.told('position-held')).toEqual([])
  })

  it('is held where that message is another one: the topic was created anew, and has grown beyond it', async () => {
    const { consumer, source, intake } = await startStored({ stored: { 't/0': 9n }, at: 1_000 })
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
    const { consumer, intake } = await startStored({
      stored: { 't/0': 9n },
      ...(offsets[0] === 8 ? {} : { at: 1_000 }),
    })
    await consumer.fetch('t/0', Number(consumer.seeks[0]?.split('@')[1]), offsets.slice(offsets[0] === 8 ? 1 : 0))
    expect(intake.positions.at(-1)).toBe(`0@${offsets.at(-1)}`)
    expect(intake.held.size).toBe(0)
  })

  it('goes to the position itself where that message was deleted by retention, and reports no loss', async () => {
    const { kafka, intake, opening } = openStored({ stored: { 't/0': 9n }, at: 1_000 })
    kafka.bounds.set('t/0', { low: 9n, high: 9n })
    await opening
    await eventually(async () => kafka.newest.seeks.length > 0)
    expect(kafka.newest.seeks).toEqual(['t/0@9'])
    await kafka.newest.fetch('t/0', 9, [9])
    expect(intake.positions).toEqual(['0@9'])
    expect(intake.told('lost-by-retention')).toEqual([])
  })

  it('is looked at again after kafkajs began the partition anew in the middle of its work', async () => {
    const { consumer, intake } = await startStored({ stored: { 't/0': 9n }, at: 1_000 })
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
  const started = await startStored({ stored: { 't/0': 9n }, at })
  await started.consumer.fetch('t/0', 8, [8, 9, 10], { timestamps: { 8: at, 9: 2_000, 10: 3_000 } })
  return started
}

describe('a log that nobody looked at for a while', () => {
  const pauses: [string, (started: Started) => unknown][] = [
    ['a pause', pauseAndResume],
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
    const { source, consumer, intake } = await startStored({ stored: { 't/0': 9n }, at: 1_000 })
    await consumer.fetch('t/0', 8, [8], { timestamps: { 8: 1_000 } })
    const seeks = consumer.seeks.length
    pauseAndResume({ source })
    expect(consumer.seeks.slice(seeks)).toEqual(['t/0@8'])
    await consumer.fetch('t/0', 8, [8, 9], { timestamps: { 8: 7_000 } })
    await eventually(async () => intake.held.has('t/0'))
    expect(intake.positions).toEqual([])
  })

  it('goes on where the last message received was deleted by retention meanwhile, without a finding', async () => {
    const { kafka, source, consumer, intake } = await lookedAway()
    settleAll(intake)
    await eventually(async () => consumer.commits.at(-1) === 't/0@11')
    pauseAndResume({ source })
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
