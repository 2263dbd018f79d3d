import { describe, expect, it } from '@jest/globals'
import type { Key } from '../../../src/core/record.ts'
import type { Health } from '../../../src/ports/health.ts'
import type { ObserverEvent } from '../../../src/ports/observer.ts'
import type { PartitionHealth } from '../../../src/ports/source.ts'
import type { Store } from '../../../src/ports/store.ts'
import type { RecordPage, StoreAdmin } from '../../../src/ports/store-admin.ts'
import { Meter } from '../../../src/signals/meter.ts'
import type { Readings } from '../../../src/signals/gauges.ts'
import { ManualClock, turns } from '../../kit/manual-clock.ts'
import { gate } from '../../kit/rig.ts'

interface Listing {
  readonly state: 'parked' | 'given-up'
  readonly limit: number
  readonly after?: string
}

/** A store that is asked what waits for people. */
class AskedStore {
  readonly name = 'asked'
  readonly strategy = 'lease'
  asked = 0
  reasons: readonly (string | undefined)[] = []
  givenUp: readonly string[] = []
  answer: () => Promise<void> = async () => {}
  since: number | undefined
  readonly admin = {
    list: async (_scope: string, { state, limit, after = '0' }: Listing): Promise<RecordPage> => {
      if (state === 'parked') {
        this.asked++
        await this.answer()
      }
      const from = Number(after)
      const reasons = state === 'parked' ? this.reasons : this.givenUp
      const records = reasons.slice(from, from + limit)
      const next = from + limit < reasons.length ? String(from + limit) : undefined
      const page = records.map((reason, at) => ({ state, key: `k${from + at}` as Key, reason }))
      return { records: page, looked: page.length, next }
    },
    knownSince: async () => (this.since === undefined ? undefined : { at: this.since, because: 'it says so' }),
  } as unknown as StoreAdmin
}

function health(changes: Partial<Health> = {}): Health {
  return {
    consumer: 'c',
    live: true,
    ready: true,
    state: 'running',
    checks: { store: 'ok' },
    inFlight: 0,
    claimed: 0,
    slots: 64,
    oldestUnfinishedMs: 0,
    partitions: [],
    counts: {},
    ...changes,
  }
}

function started(store: unknown, changes: Partial<Health> | (() => Health) = {}): ObserverEvent {
  return {
    type: 'started',
    consumer: 'c',
    group: 'g',
    scope: 'g/c',
    store: store as Store<unknown>,
    retentionMs: 60_000,
    leaseMs: 30_000,
    health: typeof changes === 'function' ? changes : () => health(changes),
  }
}

function meterOf(
  store: unknown,
  changes: Partial<Health> = {},
): { readonly clock: ManualClock; readonly meter: Meter } {
  const clock = new ManualClock()
  const meter = new Meter({ clock })
  meter.observe(started(store, changes))
  return { clock, meter }
}

function parkedIn({ parked }: Readings): Record<string, number> {
  const shown = parked.filter(({ value }) => value > 0)
  return Object.fromEntries(shown.map(({ labels, value }) => [labels['reason'] ?? '', value]))
}

describe('gauges of a store', () => {
  it('count parked messages by reason, over pages', async () => {
    const store = new AskedStore()
    store.reasons = Array.from({ length: 2_500 }, (_, at) => (at % 2 === 0 ? 'in-doubt' : undefined))
    const { clock, meter } = meterOf(store)
    store.since = clock.now() - 5_000
    const readings = await meter.gauges()
    expect(parkedIn(readings)).toEqual({ 'in-doubt': 1_250, other: 1_250 })
    expect(readings.parked.filter(({ value }) => value === 0)).toHaveLength(5)
    expect(readings.purgeHorizon).toEqual([{ labels: { consumer: 'c', store: 'asked' }, value: 5 }])
  })

  it('count given-up messages by reason, and those of no message as 0', async () => {
    const store = new AskedStore()
    store.givenUp = Array.from({ length: 12_345 }, (_, at) => (at % 2 === 0 ? 'schema' : 'attempts-spent'))
    const { givenUp } = await meterOf(store).meter.gauges()
    expect(Object.fromEntries(givenUp.map(({ labels, value }) => [labels['reason'], value]))).toEqual({
      schema: 5_000,
      'attempts-spent': 5_000,
      undecodable: 0,
      'handler-failed': 0,
    })
  })

  it('stop counting at 10,000', async () => {
    const store = new AskedStore()
    store.reasons = Array.from({ length: 12_345 }, () => 'in-doubt')
    expect(parkedIn(await meterOf(store).meter.gauges())).toEqual({ 'in-doubt': 10_000 })
  })

  it('are read at most every 15 s', async () => {
    const store = new AskedStore()
    const { clock, meter } = meterOf(store)
    await meter.gauges()
    store.reasons = ['in-doubt']
    await clock.advance(14_999)
    expect(parkedIn(await meter.gauges())).toEqual({})
    await clock.advance(1)
    expect(parkedIn(await meter.gauges())).toEqual({ 'in-doubt': 1 })
    expect(store.asked).toBe(2)
  })

  it('are read less often when the store takes long', async () => {
    const store = new AskedStore()
    const { clock, meter } = meterOf(store)
    store.answer = () => new Promise((resolve) => void clock.after(800, resolve))
    const first = meter.gauges()
    await clock.advance(800)
    await first
    await clock.advance(79_999)
    await meter.gauges()
    expect(store.asked).toBe(1)
    await clock.advance(1)
    const second = meter.gauges()
    await clock.advance(800)
    await second
    expect(store.asked).toBe(2)
  })

  it('are left out, and cost one second once, while the store does not answer', async () => {
    const store = new AskedStore()
    store.reasons = ['in-doubt']
    const { clock, meter } = meterOf(store)
    const answered = gate()
    store.answer = () => answered.opened
    let first: Readings | undefined
    void meter.gauges().then((readings) => (first = readings))
    await clock.advance(999)
    expect(first).toBeUndefined()
    await clock.advance(1)
    expect(first?.parked).toEqual([])
    expect(first?.ready).toHaveLength(1)
    await clock.advance(60_000)
    // Without a wait, and without another question.
    expect((await meter.gauges()).parked).toEqual([])
    expect(store.asked).toBe(1)
    answered.open()
    await turns()
    expect(parkedIn(await meter.gauges())).toEqual({ 'in-doubt': 1 })
  })

  it('keep their last values while the store answers errors, does not answer or is down, and tell their age', async () => {
    const store = new AskedStore()
    store.reasons = ['in-doubt']
    let down = false
    const clock = new ManualClock()
    const meter = new Meter({ clock })
    meter.observe(started(store, () => health({ checks: { store: down ? 'down' : 'ok' } })))
    store.since = clock.now()
    const shown = async (): Promise<unknown[]> => {
      const reading = meter.gauges()
      await clock.advance(1_000)
      const { parked, storeReadingAge, purgeHorizon } = await reading
      return [parkedIn({ parked } as never), storeReadingAge[0]?.value, purgeHorizon[0]?.value]
    }
    expect(await shown()).toEqual([{ 'in-doubt': 1 }, 0, 0])
    store.answer = () => Promise.reject(new Error('away'))
    await clock.advance(15_000)
    expect(await shown()).toEqual([{ 'in-doubt': 1 }, 16, 16])
    store.answer = () => new Promise(() => {})
    await clock.advance(15_000)
    expect(await shown()).toEqual([{ 'in-doubt': 1 }, 33, 33])
    down = true
    await clock.advance(60_000)
    expect(await shown()).toEqual([{ 'in-doubt': 1 }, 93, 93])
  })

  it('ask again 15 s after a failure, however long that took', async () => {
    const store = new AskedStore()
    const { clock, meter } = meterOf(store)
    store.answer = () => new Promise((_, reject) => void clock.after(900, () => reject(new Error('away'))))
    for (const asked of [1, 2]) {
      const reading = meter.gauges()
      await clock.advance(900)
      await reading
      expect(store.asked).toBe(asked)
      await clock.advance(15_000)
    }
  })

  it('show a store that has just gone as down at once', async () => {
    const store = new AskedStore()
    let down = false
    const asked: unknown[] = []
    const clock = new ManualClock()
    const meter = new Meter({ clock })
    const checkStore = async (isDoubtful?: boolean): Promise<void> => {
      asked.push(isDoubtful)
      down = isDoubtful === true
    }
    meter.observe({
      ...started(store, () => health({ checks: { store: down ? 'down' : 'ok' } })),
      checkStore,
    } as ObserverEvent)
    expect((await meter.gauges()).storeUp[0]?.value).toBe(1)
    await clock.advance(15_000)
    store.answer = () => Promise.reject(new Error('away'))
    expect((await meter.gauges()).storeUp[0]?.value).toBe(0)
    expect(asked).toEqual([true])
  })

  it('are left out when the store answers an error, and when it is down', async () => {
    const store = new AskedStore()
    store.answer = () => Promise.reject(new Error('away'))
    expect((await meterOf(store).meter.gauges()).parked).toEqual([])
    const down = new AskedStore()
    const readings = await meterOf(down, { checks: { store: 'down' } }).meter.gauges()
    expect([readings.parked, readings.storeUp[0]?.value, down.asked]).toEqual([[], 0, 0])
  })

  it('are not read when nobody wants them', async () => {
    const store = new AskedStore()
    const meter = new Meter({ clock: new ManualClock(), readStores: false })
    meter.observe(started(store))
    expect((await meter.gauges()).parked).toEqual([])
    expect(store.asked).toBe(0)
  })

  it('count held partitions of strategy offsets', async () => {
    const rows = [{ held: 'log is gone' }, { held: undefined }]
    const { meter } = meterOf({ strategy: 'offsets', positions: { list: async () => rows } })
    const { heldPartitions } = await meter.gauges()
    expect(heldPartitions).toEqual([{ labels: { consumer: 'c' }, value: 1 }])
  })
})

function partition(name: string, changes: Partial<PartitionHealth> = {}): PartitionHealth {
  return {
    name,
    watermark: '110',
    committed: '100',
    lag: 7,
    committedLag: 17,
    watermarkAgeMs: 2_000,
    inFlight: 1,
    bytesInFlight: 1,
    paused: [],
    ...changes,
  }
}

describe('gauges of a source', () => {
  it('are of each partition', async () => {
    const partitions = [partition('sms/3'), partition('sms/4', { committed: undefined, lag: undefined })]
    const { oldestUnfinished, watermarkLag, partitionLag } = await meterOf(
      { strategy: 'lease' },
      { partitions },
    ).meter.gauges()
    const labels = { consumer: 'c', destination: 'sms', partition: '3' }
    expect(watermarkLag).toEqual([{ labels, value: 10 }])
    expect(partitionLag).toEqual([{ labels, value: 7 }])
    expect(oldestUnfinished.map(({ value }) => value)).toEqual([2, 2])
  })

  it('have a bound: the worst of all further partitions is one value', async () => {
    const partitions = Array.from({ length: 3_000 }, (_, at) => partition(`sms/${at}`, { watermarkAgeMs: at * 1_000 }))
    const { oldestUnfinished } = await meterOf({ strategy: 'lease' }, { partitions }).meter.gauges()
    expect(oldestUnfinished.length).toBeLessThanOrEqual(1_001)
    expect(oldestUnfinished.find(({ labels }) => labels['partition'] === 'other')?.value).toBe(2_999)
  })

  it('of two runs of one consumer become one value', async () => {
    const { meter } = meterOf({ strategy: 'lease' }, { inFlight: 3, ready: true })
    meter.observe(started({ strategy: 'lease' }, { inFlight: 4, ready: false }))
    const { inFlight, ready } = await meter.gauges()
    expect([inFlight, ready]).toEqual([
      [{ labels: { consumer: 'c' }, value: 7 }],
      [{ labels: { consumer: 'c' }, value: 0 }],
    ])
  })

  it('of the run that was stopped are left out, those of the other stay', async () => {
    const { meter } = meterOf({ strategy: 'lease' }, { inFlight: 3 })
    meter.observe(started({ strategy: 'lease' }, { inFlight: 4, state: 'stopped' }))
    meter.observe({ type: 'stopped', consumer: 'c' })
    expect((await meter.gauges()).inFlight).toMatchObject([{ value: 3 }])
  })

  it('are left out when the source throws', async () => {
    const meter = new Meter({ clock: new ManualClock() })
    meter.observe(
      started({ strategy: 'lease' }, () => {
        throw new Error('a mistake of its author')
      }),
    )
    const { ready, lease } = await meter.gauges()
    expect([ready.length, lease.length]).toEqual([0, 1])
  })
})
