import { afterEach, describe, expect, it } from '@jest/globals'
import { OutcomeUnknownError } from '../../../src/foundation/errors.ts'
import type { ObserverEvent } from '../../../src/ports/observer.ts'
import { liveSignals, type LiveSignals } from '../../../src/signals/live.ts'
import type { LiveConsumer } from '../../../src/signals/live-snapshot.ts'
import { ManualClock } from '../../kit/manual-clock.ts'
import { endRigs, startRig, World } from '../../kit/rig.ts'

afterEach(endRigs)

function only(live: LiveSignals, key?: string): LiveConsumer {
  const { consumers } = live.snapshot({ key })
  const [consumer] = consumers
  if (consumer === undefined || consumers.length > 1) throw new Error(`expected one consumer, got ${consumers.length}`)
  return consumer
}

const message = {
  system: 'kafka',
  destination: 'sms',
  origin: 'sms',
  position: '3@1204',
  key: null,
  value: Buffer.from('{"to":"+447700900123"}'),
  headers: { id: 'order-4711' },
} as const

const delivery = (key: string, outcome: 'handled' | 'parked' = 'handled'): ObserverEvent => ({
  type: 'delivery',
  consumer: 'sms',
  key,
  outcome,
  message,
})

describe('liveSignals, on a running consumer', () => {
  it('still shows the live run when a second run of the consumer, as of a replay, has ended', async () => {
    const world = new World()
    const live = liveSignals({ clock: world.clock })
    const first = await startRig({ world, observe: live, effect: (work) => work.apply() })
    const second = await startRig({ world, observe: live, effect: (work) => work.apply() })
    await second.running.stop()
    expect(only(live)).toMatchObject({ stoppedAt: undefined, health: { state: 'running' } })
    await first.running.stop()
    expect(only(live)).toMatchObject({ stoppedAt: world.clock.now(), health: { state: 'stopped' } })
  })

  it('shows outcomes, steps of a message with its redelivery, and the health of the consumer', async () => {
    const world = new World()
    const live = liveSignals({ clock: world.clock })
    const rig = await startRig({ world, observe: live, effect: (work) => work.apply() })
    await rig.deliver('a', 'b')
    await rig.clock.advance(1_000)
    await rig.deliver('a')
    const shown = only(live)
    expect(shown).toMatchObject({
      consumer: 'consumer',
      group: 'group',
      outcomes: { handled: 2, duplicate: 1, failed: 0 },
      health: { live: true, ready: true },
      duplicateAge: { count: 1, maxMs: 1_000 },
      series: { stepMs: 10_000, outcomes: { handled: [2], duplicate: [1] } },
    })
    const key = shown.recent[0]?.key
    expect(only(live, key).recent).toMatchObject([
      { type: 'delivery', outcome: 'duplicate', key, at: 1_700_000_001_000 },
      { type: 'delivery', outcome: 'handled', key, durations: { claimMs: 0, handlerMs: 0, markMs: 0, totalMs: 0 } },
    ])
    await rig.running.stop()
    expect(only(live)).toMatchObject({ stoppedAt: 1_700_000_001_000, health: { state: 'stopped' } })
  })

  it('keeps failed attempts and doubt of a message between its deliveries', async () => {
    const world = new World()
    const live = liveSignals({ clock: world.clock })
    const rig = await startRig({
      world,
      observe: live,
      onInDoubt: 'park',
      effect: ({ attempt }) =>
        Promise.reject(attempt === 1 ? new Error('the provider refused') : new OutcomeUnknownError('no answer')),
    })
    await rig.deliver('a')
    await rig.clock.advance(60_000)
    const { recent, counts, outcomes, series } = only(live)
    expect(recent.map(({ type }) => type)).toEqual(['delivery', 'in-doubt', 'attempt-failed'])
    expect(recent).toMatchObject([{ outcome: 'parked' }, {}, { attempt: 1, detail: 'the provider refused' }])
    expect(counts).toMatchObject({ 'attempt-failed': 1, 'in-doubt': 1 })
    expect(outcomes.parked).toBe(1)
    expect(series.attemptsFailed.reduce((sum, count) => sum + count, 0)).toBe(1)
  })

  it('shows of a message that fails all the time the newest attempt, and beside many handled ones what went wrong', () => {
    const live = liveSignals({ clock: new ManualClock() })
    live(delivery('parked', 'parked'))
    const fails = { type: 'attempt-failed', consumer: 'sms', key: 'fails', message, retryInMs: 1_000 } as const
    for (let attempt = 1; attempt <= 60; attempt++) live({ ...fails, attempt, error: new Error('429') })
    for (let at = 0; at < 200; at++) live(delivery(`handled-${at}`))
    const { recent } = only(live)
    expect(recent).toHaveLength(50)
    expect(recent[0]?.key).toBe('handled-199')
    expect(recent.slice(-2)).toMatchObject([{ key: 'fails', attempt: 60 }, { key: 'parked' }])
    expect(only(live, 'fails').recent).toHaveLength(60)
  })

  it('says since when the store is down, and that it is up again', async () => {
    const world = new World()
    const live = liveSignals({ clock: world.clock })
    const rig = await startRig({ world, observe: live, effect: (work) => work.apply() })
    rig.store.isDown = true
    await rig.deliver('a')
    await rig.clock.advance(5_000)
    expect(only(live).storeDownSince).toBeGreaterThan(0)
    expect(only(live).counts['store-error']).toBeGreaterThan(0)
    rig.store.isDown = false
    await rig.clock.advance(60_000)
    expect(only(live).storeDownSince).toBeUndefined()
    expect(only(live).events.map(({ event }) => event)).toEqual(['store-up', 'store-down', 'started'])
  })

  it('holds no payload, no header and no raw ID', async () => {
    const world = new World()
    const live = liveSignals({ clock: world.clock })
    const rig = await startRig({
      world,
      observe: live,
      maxAttempts: 1,
      effect: () =>
        Promise.reject(new Error('cannot send to +447700900123 for order-4711: the secret text of a message')),
    })
    await rig.deliver({ id: 'order-4711', payload: '{"to":"+447700900123","text":"the secret text of a message"}' })
    await rig.clock.advance(1_000)
    const text = JSON.stringify(live.snapshot())
    expect(text).toContain('dead-lettered')
    expect(text).not.toMatch(/4711|7700900123|secret text/)
  })
})

describe('liveSignals, bounds', () => {
  it('keeps a parked message although thousands were handled after it', () => {
    const live = liveSignals({ clock: new ManualClock() })
    live(delivery('key-of-parked', 'parked'))
    for (let at = 0; at < 10_000; at++) live(delivery(`key-${at}`))
    expect(only(live, 'key-of-parked').recent).toMatchObject([{ outcome: 'parked' }])
    expect(only(live).recent).toHaveLength(50)
    expect(only(live, 'key-0').recent).toEqual([])
    expect(only(live, 'key-9999').recent).toHaveLength(1)
  })

  it('keeps an hour, however long it runs, in less than 100 kB of JSON', async () => {
    const clock = new ManualClock()
    const live = liveSignals({ clock })
    for (let minute = 0; minute < 180; minute++) {
      live(delivery(`key-${minute}`))
      live({ type: 'handler-run', consumer: 'sms', result: 'handled', count: 1, durationMs: minute })
      clock.skip(60_000)
    }
    const { series, outcomes, handler } = only(live)
    expect(series.at).toHaveLength(360)
    expect(series.at.every((at, step) => step === 0 || at - (series.at[step - 1] ?? 0) === 10_000)).toBe(true)
    expect(series.outcomes.handled?.reduce((sum, count) => sum + count, 0)).toBe(59)
    expect(outcomes.handled).toBe(180)
    expect(handler.count).toBeGreaterThanOrEqual(4)
    expect(handler.count).toBeLessThanOrEqual(10)
    expect(JSON.stringify(live.snapshot()).length).toBeLessThan(100_000)
  })

  it('keeps 50 reasons and 100 consumers at most', () => {
    const live = liveSignals({ clock: new ManualClock() })
    for (let at = 0; at < 200; at++) {
      live({ type: 'delivery', consumer: 'sms', outcome: 'parked', reason: `reason ${at}`, message })
    }
    const { reasons } = only(live)
    expect(Object.keys(reasons)).toHaveLength(51)
    expect(reasons['other']).toBe(150)
    for (let at = 0; at < 200; at++) live({ ...delivery('a'), consumer: `consumer ${at}` })
    expect(live.snapshot().consumers).toHaveLength(100)
  })

  it.each([0.05, 1, 9.9, 140, 2_500, 86_400_000, 900_000_000])('tells %d ms within 10 %%', (ms) => {
    const live = liveSignals({ clock: new ManualClock() })
    for (let at = 0; at < 10; at++)
      live({ type: 'handler-run', consumer: 'sms', result: 'handled', count: 1, durationMs: ms })
    const { p50Ms = 0, p99Ms = 0, maxMs } = only(live).handler
    expect(maxMs).toBe(ms)
    expect(Math.abs(p50Ms - ms) / ms).toBeLessThan(0.1)
    expect(p99Ms).toBe(p50Ms)
  })
})
