import { readFileSync } from 'node:fs'
import { afterEach, describe, expect, it } from '@jest/globals'
import type { Store } from '../../../src/ports/store.ts'
import { OutcomeUnknownError, StoreError } from '../../../src/foundation/errors.ts'
import type { Labels } from '../../../src/signals/series.ts'
import { Meter } from '../../../src/signals/meter.ts'
import type { CounterId, HistogramId } from '../../../src/signals/metrics.ts'
import { endRigs, gate, startRig, STYLES, World, type Rig, type RigOptions } from '../../kit/rig.ts'

afterEach(endRigs)

async function metered(options: RigOptions): Promise<{ readonly meter: Meter; readonly rig: Rig }> {
  const world = options.world ?? new World()
  const meter = new Meter({ clock: world.clock })
  const rig = await startRig({ ...options, world, observe: meter.observe })
  return { meter, rig }
}

/** Sums by these labels, without those that are 0. */
function counted(meter: Meter, metric: CounterId, ...labels: readonly string[]): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const { labels: all, value } of meter.counter(metric).filter((one) => one.value !== 0)) {
    const text = labelText(all, labels)
    sums[text] = (sums[text] ?? 0) + value
  }
  return sums
}

function observations(meter: Meter, metric: HistogramId, ...labels: readonly string[]): Record<string, number> {
  const totals = meter.histogram(metric).map((one) => {
    return [labelText(one.labels, labels), one.buckets.reduce((sum, count) => sum + count, 0)] as const
  })
  return Object.fromEntries(totals.filter(([, count]) => count > 0))
}

function labelText(all: Labels, shown: readonly string[]): string {
  return shown.map((name) => all[name]).join(' ')
}

describe.each(STYLES)('the meter ($strategy, $handler)', (style) => {
  it('counts each delivery by its outcome', async () => {
    const { meter, rig } = await metered({
      style,
      maxAttempts: 1,
      effect: (work) => (work.id === 'bad' ? Promise.reject(new Error('broken')) : work.apply()),
    })
    await rig.deliver('a', 'bad', '', 'a')
    await rig.deliver('a')
    await rig.clock.advance(1_000)
    expect(counted(meter, 'deliveries', 'outcome', 'reason')).toEqual({
      'handled ': 1,
      'joined handled': 1,
      'duplicate ': 1,
      'dead-lettered no-id': 1,
      'dead-lettered attempts-spent': 1,
    })
    expect(counted(meter, 'duplicates', 'found')).toEqual({ process: 1, store: 1 })
    expect(counted(meter, 'deliveries', 'consumer', 'system', 'replay')).toMatchObject({
      'consumer memory false': 5,
    })
  })

  it('adds up to the deliveries, however they end', async () => {
    const { meter, rig } = await metered({
      style,
      maxAttempts: 2,
      effect: (work) => (work.id.startsWith('bad') ? Promise.reject(new Error('broken')) : work.apply()),
    })
    for (let at = 0; at < 30; at++) await rig.deliver(`a${at % 7}`, `bad${at % 3}`, '')
    await rig.clock.advance(60_000)
    const expected: Record<string, number> = {}
    for (const outcome of rig.outcomes()) expected[outcome] = (expected[outcome] ?? 0) + 1
    expect(counted(meter, 'deliveries', 'outcome')).toEqual(expected)
    expect(rig.outcomes()).toHaveLength(90)
  })

  it('counts a duplicate whose settle was refused', async () => {
    const { meter, rig } = await metered({ style, effect: (work) => work.apply() })
    await rig.deliver('a')
    const answered = gate()
    rig.store.script('claim', answered.opened)
    const [again] = await rig.deliver('a')
    if (again !== undefined) again.current = 'stale'
    answered.open()
    await rig.clock.advance(1_000)
    const [total] = Object.values(counted(meter, 'duplicates', 'destination'))
    const refused = rig.outcomes().filter((outcome) => outcome === 'settle-refused').length
    expect([total, refused]).toEqual([1, 1])
    expect(counted(meter, 'duplicates', 'found')).toEqual({ 'settle-refused': 1 })
  })

  it('knows how old a duplicate is', async () => {
    const { meter, rig } = await metered({ style, effect: (work) => work.apply() })
    await rig.deliver('a')
    await rig.clock.advance(50_000)
    await rig.deliver('a')
    const [age] = meter.histogram('duplicateAge')
    expect(age?.sum).toBe(50)
  })

  it('observes runs, calls, batches and the way of a message', async () => {
    const world = new World()
    const slow = new Promise<void>((resolve) => void world.clock.after(40, resolve))
    const { meter, rig } = await metered({
      style,
      world,
      effect: async (work) => {
        await slow
        await work.apply()
      },
    })
    await rig.deliver({ id: 'a', timestamp: rig.clock.now() - 960 })
    await rig.clock.advance(40)
    expect(observations(meter, 'handlerDuration', 'result')).toEqual({ handled: 1 })
    expect(observations(meter, 'storeDuration', 'operation', 'error')).toEqual({ 'claim ': 1, 'mark ': 1 })
    expect(observations(meter, 'batchSize', 'stage')).toEqual({ claim: 1, mark: 1 })
    expect(meter.histogram('endToEnd')[0]?.sum).toBe(1)
    expect(counted(meter, 'steps', 'step')).toEqual({ handler: 0.04 })
  })

  it('names the error of a call by its code', async () => {
    const { meter, rig } = await metered({ style, effect: (work) => work.apply() })
    rig.store.script('claim', new StoreError('STORE_UNREACHABLE', 'away'), new Error('secret'))
    await rig.deliver('a')
    await rig.clock.advance(10_000)
    expect(observations(meter, 'storeDuration', 'operation', 'error')).toMatchObject({
      'claim STORE_UNREACHABLE': 1,
      'claim other': 1,
    })
    expect(counted(meter, 'events', 'event')).toMatchObject({ 'store-down': 1, 'store-up': 1 })
  })

  it('reads gauges from what runs', async () => {
    const running = gate()
    const { meter, rig } = await metered({ style, effect: () => running.opened })
    await rig.deliver('a', 'b')
    await rig.clock.advance(3_000)
    const { claimsActive, slots, inFlight, oldestUnfinished, ready, live, lease, retention, storeUp } =
      await meter.gauges()
    expect([claimsActive, inFlight, oldestUnfinished, ready, live].map((one) => one.map(({ value }) => value))).toEqual(
      [[2], [2], [3], [1], [1]],
    )
    // `consume_once_slots`
    expect(slots.map(({ value }) => value)).toEqual([
      style.strategy === 'lease' ? 64 : style.handler === 'handle' ? 400 : 2_000,
    ])
    expect([lease, retention, storeUp].map((one) => one[0]?.value)).toEqual([30, 604_800, 1])
    running.open()
    await rig.clock.advance(1)
    const after = await meter.gauges()
    expect([after.claimsActive, after.inFlight, after.oldestUnfinished].map(([one]) => one?.value)).toEqual([0, 0, 0])
    await rig.running.stop()
    expect(Object.values(await meter.gauges()).flat()).toEqual([])
  })
})

describe('the meter', () => {
  it('counts doubt by policy', async () => {
    const { meter, rig } = await metered({
      onInDoubt: 'park',
      effect: () => Promise.reject(new OutcomeUnknownError('who knows')),
    })
    await rig.deliver('a', 'b')
    await rig.clock.advance(1_000)
    expect(counted(meter, 'inDoubt', 'policy')).toEqual({ park: 2 })
    expect(counted(meter, 'deliveries', 'outcome', 'reason')).toEqual({ 'parked in-doubt': 2 })
  })

  it('has each event that an alert counts at 0 before the first: what is subtracted from nothing is nothing, and no alert', async () => {
    const rules = readFileSync('observability/prometheus-alerts.yml', 'utf8')
    const inRules = [...rules.matchAll(/consume_once_events_total\{event="([\w-]+)"\}/g)].map(([, name]) => name)
    expect(inRules).toContain('hold-over')
    const { meter, rig } = await metered({ effect: (work) => work.apply() })
    await rig.deliver('a')
    const zeros = meter.counter('events').map(({ labels }) => labels['event'])
    expect(zeros).toEqual(expect.arrayContaining(inRules))
  })

  it('has alarms at 0 before the first of them', async () => {
    const { meter, rig } = await metered({ effect: (work) => work.apply() })
    await rig.deliver('a')
    const zeros = meter.counter('events').map(({ labels }) => labels['event'])
    expect(zeros).toEqual(expect.arrayContaining(['store-down', 'stuck', 'stalled', 'lease-lost', 'publish-failed']))
    const deadLetters = meter.counter('deliveries').filter(({ value }) => value === 0)
    expect(deadLetters.map(({ labels }) => labels['outcome'])).toEqual(
      expect.arrayContaining(['dead-lettered', 'parked']),
    )
  })

  it('begins at 0 again when it is reset', async () => {
    const { meter, rig } = await metered({ effect: (work) => work.apply() })
    await rig.deliver('a')
    meter.reset('deliveries')
    meter.reset('steps')
    expect(counted(meter, 'deliveries', 'outcome')).toEqual({})
    await rig.deliver('a', 'b')
    expect(counted(meter, 'deliveries', 'outcome')).toEqual({ duplicate: 1, handled: 1 })
  })

  it.each(['kafka', 'rabbitmq', 'bullmq', 'memory', 'nats'])('names the broker: %s', (system) => {
    const meter = new Meter()
    const message = { system, destination: 'sms', headers: {} }
    meter.observe({ consumer: 'a', type: 'delivery', outcome: 'duplicate', message } as never)
    expect(counted(meter, 'deliveries', 'system')).toMatchObject({ [system]: 1 })
  })

  it('bounds what comes from outside, and never throws at it', () => {
    const meter = new Meter()
    for (let at = 0; at < 10_000; at++) {
      const name = `${at}"\\\n\u0000\ud800é${'x'.repeat(at % 300)}`
      const store = { strategy: 'lease', name } as unknown as Store<unknown>
      const message = { system: name, destination: name, headers: { [name]: name } }
      const events = [
        { type: 'delivery', outcome: 'dead-lettered', reason: name, message },
        { type: 'source', event: name },
        {
          type: 'store-call',
          operation: 'claim',
          count: 1,
          durationMs: 1,
          error: Object.assign(new Error(), { code: name }),
        },
        {
          type: 'started',
          group: name,
          scope: name,
          store,
          retentionMs: 1,
          leaseMs: 1,
          health: () => {
            throw new Error(name)
          },
        },
      ]
      for (const event of events) meter.observe({ ...event, consumer: at < 5_000 ? name : 'c' } as never)
    }
    const bound = { deliveries: 200 * 16 + 200 * 20, events: 201 * 7 + 200 * 61 }
    expect(meter.counter('deliveries').length).toBeLessThanOrEqual(bound.deliveries)
    expect(meter.counter('events').length).toBeLessThanOrEqual(bound.events)
    const labels = (['deliveries', 'duplicates', 'events'] as const).flatMap((id) => meter.counter(id))
    for (const value of new Set(labels.flatMap((one) => Object.values(one.labels)))) {
      expect(value.length).toBeLessThanOrEqual(255)
      expect(value.isWellFormed()).toBe(true)
      expect(value).not.toMatch(/\p{Cc}/u)
    }
    expect(new Set(meter.counter('deliveries').map((one) => one.labels['reason']))).not.toContain('0')
    const total = meter.counter('deliveries').reduce((sum, { value }) => sum + value, 0)
    expect(total).toBe(10_000)
  })
})
