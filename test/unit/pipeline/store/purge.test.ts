import { afterEach, describe, expect, it } from '@jest/globals'
import {
  defineConsumer,
  messageId,
  runInline,
  type ObserverEvent,
  type RedeliveryWindow,
  type Running,
} from '../../../../src/index.ts'
import { memoryStore } from '../../../../src/memory/index.ts'
import { runConsumer, type Purged, type Purging, type StoreAdmin } from '../../../../src/internal.ts'
import { ManualClock, turns } from '../../../kit/manual-clock.ts'
import { RecordingSource } from '../../../kit/recording-source.ts'
import { storeWith } from '../../../kit/store-with.ts'

const MINUTE_MS = 60_000
const RETENTION_MS = 86_400_000

const running: { readonly consumer: Pick<Running, 'stop'>; readonly clock: ManualClock }[] = []

afterEach(async () => {
  for (const { consumer, clock } of running.splice(0)) {
    await consumer.stop({ deadlineMs: 0 })
    if (clock.pending > 0) throw new Error(`left behind by a stop: ${clock.pending} timers`)
  }
})

interface Setting {
  readonly purge?: 'background' | 'never'
  readonly window?: () => Promise<RedeliveryWindow | undefined>
  readonly isLog?: boolean
  readonly answer?: (how: Purging) => Promise<Purged>
}

class Consumed {
  readonly clock = new ManualClock()
  readonly source = new RecordingSource()
  readonly events: ObserverEvent[] = []
  readonly purges: (Purging & { readonly scope: string; readonly at: number })[] = []
  consumer!: Pick<Running, 'stop'>

  static async start(setting: Setting = {}): Promise<Consumed> {
    const consumed = new Consumed()
    const { clock, source } = consumed
    if (setting.window !== undefined) Object.assign(source, { redeliveryWindowMs: setting.window })
    if (setting.isLog === true) Object.assign(source, { seeksPositions: true })
    consumed.consumer = await runConsumer(consumed.#define(setting), { source, publisher: source, clock })
    running.push(consumed)
    await turns()
    return consumed
  }

  static async inline(): Promise<Consumed> {
    const consumed = new Consumed()
    const inline = runInline(consumed.#define({}), { group: 'group', clock: consumed.clock })
    await inline.open()
    consumed.consumer = inline
    running.push(consumed)
    return consumed
  }

  of(type: ObserverEvent['type']): readonly ObserverEvent[] {
    return this.events.filter((event) => event.type === type)
  }

  get times(): readonly number[] {
    return this.purges.map(({ at }) => at)
  }

  #define({ purge, answer = async () => ({ removed: 0, more: false }) }: Setting): ReturnType<typeof defineConsumer> {
    const store = storeWith(({ admin }) => ({
      admin: {
        ...(admin as StoreAdmin),
        purge: (scope, how) => {
          this.purges.push({ ...how, scope, at: this.clock.monotonic() })
          return answer(how)
        },
      },
    }))
    return defineConsumer({
      name: 'consumer',
      id: messageId.header('id'),
      retentionMs: RETENTION_MS,
      store,
      handle: () => {},
      observe: (event) => this.events.push(event),
      ...(purge === undefined ? {} : { purge }),
    })
  }
}

describe('a purge in the background', () => {
  it.each([
    ['of runConsumer', () => Consumed.start()],
    ['of runInline', () => Consumed.inline()],
  ])('comes five minutes after the start, then every ten: %s', async (_, start) => {
    const consumed = await start()
    await consumed.clock.advance(5 * MINUTE_MS - 1)
    expect(consumed.purges).toEqual([])
    await consumed.clock.advance(21 * MINUTE_MS)
    expect(consumed.times).toEqual([5, 15, 25].map((minutes) => minutes * MINUTE_MS))
    expect(consumed.purges[0]).toMatchObject({ scope: 'group/consumer', retentionMs: RETENTION_MS, limit: 10_000 })
    expect(consumed.of('purged')).toEqual([])
  })

  it('goes on in batches while there is more, with pauses, and tells once how many', async () => {
    const answers = [
      { removed: 10_000, more: true },
      { removed: 10_000, more: true },
      { removed: 7, more: false },
    ]
    const consumed = await Consumed.start({ answer: async () => answers.shift() ?? { removed: 0, more: false } })
    await consumed.clock.advance(6 * MINUTE_MS)
    expect(consumed.times).toEqual([300_000, 300_250, 300_500])
    expect(consumed.of('purged')).toMatchObject([{ type: 'purged', removed: 20_007 }])
  })

  it('is put off by a rebalance, also in the middle [T70]', async () => {
    const consumed = await Consumed.start({ answer: async () => ({ removed: 10_000, more: true }) })
    await consumed.clock.advance(4 * MINUTE_MS)
    consumed.source.stand('stale')
    await consumed.clock.advance(4 * MINUTE_MS)
    expect(consumed.purges).toEqual([])
    await consumed.clock.advance(MINUTE_MS)
    expect(consumed.times[0]).toBe(9 * MINUTE_MS)
    consumed.source.stand('stale')
    const before = consumed.purges.length
    await consumed.clock.advance(9 * MINUTE_MS)
    expect(consumed.purges.length).toBeLessThanOrEqual(before + 1)
  })

  it('is not put off for ever by rebalances that come again and again', async () => {
    const consumed = await Consumed.start()
    for (let minutes = 0; minutes < 130; minutes += 4) {
      await consumed.clock.advance(4 * MINUTE_MS)
      consumed.source.stand('stale')
    }
    expect(consumed.times).toEqual([60 * MINUTE_MS, 120 * MINUTE_MS])
  })

  it('comes with the stop of a process that ends before its first round, as a small batch', async () => {
    const consumed = await Consumed.start({ answer: async () => ({ removed: 3, more: false }) })
    await consumed.clock.advance(MINUTE_MS)
    await consumed.consumer.stop({ deadlineMs: 10_000 })
    expect(consumed.purges).toMatchObject([{ retentionMs: RETENTION_MS, limit: 1_000 }])
    expect(consumed.of('purged')).toMatchObject([{ removed: 3 }])
  })

  it('does not hold up a stop when the store does not answer', async () => {
    const consumed = await Consumed.start({ answer: () => new Promise(() => {}) })
    let isStopped = false
    const stopped = consumed.consumer.stop({ deadlineMs: 10_000 }).then(() => (isStopped = true))
    await turns()
    expect(isStopped).toBe(false)
    await consumed.clock.advance(2_000)
    expect(await stopped).toBe(true)
  })

  it('does not come with the stop of a process that has purged, nor without time', async () => {
    const [long, hurried] = [await Consumed.start(), await Consumed.start()]
    await long.clock.advance(6 * MINUTE_MS)
    await long.consumer.stop({ deadlineMs: 10_000 })
    await hurried.consumer.stop({ deadlineMs: 0 })
    expect([long.purges.length, hurried.purges.length]).toEqual([1, 0])
  })

  it('outlives a store that fails, and tells', async () => {
    const consumed = await Consumed.start({ answer: () => Promise.reject(new Error('down')) })
    await consumed.clock.advance(16 * MINUTE_MS)
    expect(consumed.times).toHaveLength(2)
    expect(consumed.of('purge-failed')).toHaveLength(2)
  })

  it('ends with the consumer, in the middle of a batch too', async () => {
    let answer: ((purged: Purged) => void) | undefined
    const consumed = await Consumed.start({ answer: () => new Promise((resolve) => (answer = resolve)) })
    await consumed.clock.advance(5 * MINUTE_MS)
    await consumed.consumer.stop()
    answer?.({ removed: 1, more: true })
    await turns()
    expect(consumed.clock.pending).toBe(0)
    await consumed.clock.advance(30 * MINUTE_MS)
    expect(consumed.purges).toHaveLength(1)
  })

  it('does not come where it is not wanted', async () => {
    const consumed = await Consumed.start({ purge: 'never' })
    expect(consumed.clock.pending).toBe(0)
  })

  it('removes what is past its retention from a memory store, and nothing else', async () => {
    const clock = new ManualClock()
    const source = new RecordingSource()
    const store = memoryStore({ clock })
    const events: ObserverEvent[] = []
    const consumer = await runConsumer(
      defineConsumer({
        name: 'consumer',
        id: messageId.header('id'),
        retentionMs: 600_000,
        store,
        handle: () => {},
        observe: (event) => events.push(event),
      }),
      { source, publisher: source, clock },
    )
    running.push({ consumer, clock })
    source.deliver({ id: 'a' }, { id: 'b' })
    await clock.advance(9 * MINUTE_MS)
    source.deliver({ id: 'c' })
    await clock.advance(7 * MINUTE_MS)
    expect(events).toContainEqual(expect.objectContaining({ type: 'purged', removed: 2 }))
  })
})

function warnings({ events }: Consumed): readonly ObserverEvent[] {
  return events.filter((event) => event.type === 'source' && event.event === 'retention-too-short')
}

describe('a retention that is shorter than what the broker can deliver again [T87]', () => {
  it('is warned of once, and the purge keeps what may come again [T71]', async () => {
    const consumed = await Consumed.start({ window: async () => 2 * RETENTION_MS, isLog: true })
    expect(warnings(consumed)).toEqual([
      expect.objectContaining({ isWarning: true, detail: expect.stringContaining('2 days') }),
    ])
    await consumed.clock.advance(5 * MINUTE_MS)
    expect(consumed.purges[0]?.retentionMs).toBe(2 * RETENTION_MS)
  })

  it('is warned of for a log that is kept for ever, and only said of a queue, most of which have no TTL', async () => {
    const log = await Consumed.start({ window: async () => 'for-ever', isLog: true })
    expect(warnings(log)).toEqual([expect.objectContaining({ isWarning: true })])
    const queue = await Consumed.start({ window: async () => 'for-ever' })
    expect(warnings(queue)).toEqual([expect.not.objectContaining({ isWarning: true })])
    await queue.clock.advance(5 * MINUTE_MS)
    expect(queue.purges[0]?.retentionMs).toBe(RETENTION_MS)
  })

  it.each<readonly [string, NonNullable<Setting['window']>]>([
    ['a window that it covers', async () => RETENTION_MS],
    ['a window that nobody knows', async () => undefined],
    ['a broker that cannot be asked', () => Promise.reject(new Error('not authorized'))],
    [
      'a source that throws',
      () => {
        throw new Error('a mistake')
      },
    ],
  ])('is not: %s', async (_, window) => {
    const consumed = await Consumed.start({ window })
    expect(warnings(consumed)).toEqual([])
    await consumed.clock.advance(5 * MINUTE_MS)
    expect(consumed.purges[0]?.retentionMs).toBe(RETENTION_MS)
  })
})
