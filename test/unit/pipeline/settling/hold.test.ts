import { afterEach, describe, expect, it } from '@jest/globals'
import { HOLD_AFTER } from '../../../../src/core/breaker.ts'
import {
  defineConsumer,
  liveSignals,
  messageId,
  runInline,
  TerminalError,
  type Message,
  type StandardSchema,
} from '../../../../src/index.ts'
import { memoryStore } from '../../../../src/memory/index.ts'
import { ManualClock, turns } from '../../../kit/manual-clock.ts'
import { endRigs, gate, startRig, STYLES, World, type Rig, type RigOptions, type Work } from '../../../kit/rig.ts'

afterEach(endRigs)

const ids = (count: number, prefix = 'm'): string[] => Array.from({ length: count }, (_, at) => `${prefix}${at}`)
const count = (rig: Rig, outcome: string): number => rig.outcomes().filter((one) => one === outcome).length
/** Half a second, in which everything that can happen happens. */
async function passHalfSecond(rig: Rig): Promise<void> {
  for (let part = 0; part < 5; part++) {
    await rig.clock.advance(100)
    for (let before = -1; before !== rig.events.length;) {
      before = rig.events.length
      for (let turn = 0; turn < 5; turn++) await turns()
    }
  }
}
const fatal = (): never => {
  throw new TerminalError('always')
}
const RETRIES = { maxAttempts: 3, backoff: { initialMs: 500, maxMs: 500 } } as const
const byName = (work: Work): Promise<void> | void =>
  work.id.startsWith('bad') ? Promise.reject(new Error('poison')) : work.apply()
const REFUSES: StandardSchema<unknown, unknown> = {
  '~standard': { version: 1, vendor: 'test', validate: () => ({ issues: [{ message: 'expected text' }] }) },
}

/** Each way in which a message ends without its effect. */
const WAYS: readonly (readonly [string, Partial<RigOptions>, (count: number) => readonly { readonly id: string }[]])[] =
  [
    ['no usable ID', {}, (most) => Array.from({ length: most }, () => ({ id: '' }))],
    ['a decoder that throws', { decode: fatal }, (most) => ids(most).map((id) => ({ id }))],
    ['a schema that refuses', { payloadSchema: REFUSES }, (most) => ids(most).map((id) => ({ id }))],
    ['a handler that fails for good', { effect: fatal }, (most) => ids(most).map((id) => ({ id }))],
    [
      'a handler that fails each attempt',
      { effect: () => Promise.reject(new Error('deploy')), maxAttempts: 2, backoff: { initialMs: 10, maxMs: 10 } },
      (most) => ids(most).map((id) => ({ id })),
    ],
  ]

describe.each(STYLES)('a consumer in which nothing but failures comes through ($strategy, $handler)', (style) => {
  const start = (options: Partial<RigOptions> = {}): Promise<Rig> =>
    startRig({ style, effect: (work: Work) => work.apply(), ...options })

  it.each(WAYS)('holds: %s', async (_, options, send) => {
    const rig = await start(options)
    await rig.deliver(...send(200))
    await passHalfSecond(rig)
    const atFirst = count(rig, 'dead-lettered')
    expect(atFirst).toBeGreaterThanOrEqual(HOLD_AFTER)
    expect(atFirst).toBeLessThanOrEqual(HOLD_AFTER + 1)
    expect(rig.outcomes()).toHaveLength(atFirst)
    const health = rig.running.health()
    expect(health).toMatchObject({ live: true, ready: false, state: 'holding' })
    expect(health.checks['hold']).toMatch(/^holding for .*50 messages or more .* Last: .*; .*; .*resume\(\)/)
    expect([rig.count('holding'), rig.count('stalled')]).toEqual([1, 0])
    // Trials: one each, further and further apart.
    await rig.clock.advance(600)
    await rig.clock.advance(2_100)
    await rig.clock.advance(4_100)
    const perMessage = options.maxAttempts ?? 1
    expect(count(rig, 'dead-lettered')).toBeGreaterThanOrEqual(perMessage === 1 ? atFirst + 3 : atFirst)
    expect(count(rig, 'dead-lettered')).toBeLessThanOrEqual(atFirst + 3)
    expect(rig.running.state).toBe('holding')
  })

  it('goes on at once after a trial that was handled, and loses nothing', async () => {
    let isMended = false
    const rig = await start({ effect: (work) => (isMended ? work.apply() : fatal()) })
    await rig.deliver(...ids(200))
    await passHalfSecond(rig)
    expect(rig.running.state).toBe('holding')
    const lost = count(rig, 'dead-lettered')
    isMended = true
    await rig.clock.advance(1_100)
    await passHalfSecond(rig)
    expect(rig.running.health()).toMatchObject({ ready: true, state: 'running', checks: { hold: 'ok' } })
    expect([count(rig, 'handled'), new Set(rig.world.effects).size]).toEqual([200 - lost, 200 - lost])
    expect(rig.events.find(({ type }) => type === 'hold-over')).toMatchObject({ because: 'handled' })
  })

  it('keeps the attempts of what it holds back: a later version has all that were left', async () => {
    const world = new World()
    const rig = await start({
      world,
      maxAttempts: 2,
      backoff: { initialMs: 10, maxMs: 10 },
      effect: () => Promise.reject(new Error('deploy')),
    })
    const all = ids(120)
    await rig.deliver(...all)
    await passHalfSecond(rig)
    expect(rig.running.state).toBe('holding')
    const over = new Set(
      rig.events.flatMap((one) => (one.type === 'delivery' ? [String(one.message.headers['id'])] : [])),
    )
    await rig.running.stop()
    expect(count(rig, 'dead-lettered')).toBe(over.size)
    const next = await start({ world, maxAttempts: 2 })
    const left = all.filter((id) => !over.has(id))
    await next.deliver(...left)
    await next.clock.advance(120_000)
    expect(new Set(world.effects)).toEqual(new Set(left))
    expect(count(next, 'dead-lettered')).toBe(0)
  })

  it('never holds while others are handled, however slow those are', async () => {
    const rig = await start({
      concurrency: 20,
      effect: async (work) => {
        if (work.id.startsWith('bad')) fatal()
        await new Promise<void>((resolve) => void rig.clock.after(900, resolve))
        await work.apply()
      },
    })
    const mixed = Array.from({ length: 400 }, (_, at) =>
      at % 10 < 3 ? { id: at % 2 ? '' : `bad${at}` } : { id: `ok${at}` },
    )
    await rig.deliver(...mixed)
    for (let second = 0; second < 400 && rig.outcomes().length < 400; second++) await rig.clock.advance(1_000)
    expect([count(rig, 'handled'), count(rig, 'dead-lettered')]).toEqual([280, 120])
    expect(rig.count('holding')).toBe(0)
  })

  it('is not held by poison that spends its last attempts when all others are done', async () => {
    const rig = await start({ ...RETRIES, effect: byName })
    const mixed = Array.from({ length: 400 }, (_, at) => (at % 4 === 0 ? `bad${at}` : `ok${at}`))
    await rig.deliver(...mixed)
    for (let second = 0; second < 60 && rig.outcomes().length < 400; second++) await rig.clock.advance(1_000)
    expect([count(rig, 'handled'), count(rig, 'dead-lettered')]).toEqual([300, 100])
    expect(rig.count('holding')).toBe(0)
  })

  it('tries a message that never ran, before those that failed', async () => {
    const rig = await start({ ...RETRIES, effect: byName })
    await rig.deliver(...ids(60, 'bad'))
    for (let second = 0; second < 20 && rig.running.state !== 'holding'; second++) await passHalfSecond(rig)
    expect(rig.running.state).toBe('holding')
    await rig.deliver(...ids(5, 'ok'))
    // The next trial, whichever it is.
    await rig.clock.advance(4_100)
    await passHalfSecond(rig)
    expect(count(rig, 'handled')).toBe(5)
  })

  it('dead-letters all of them with hold: false', async () => {
    const rig = await start({ hold: false, effect: fatal })
    await rig.deliver(...ids(150), ...ids(50).map(() => ({ id: '' })))
    await passHalfSecond(rig)
    expect(count(rig, 'dead-lettered')).toBe(200)
    expect(rig.running.health()).toMatchObject({ ready: true, checks: { hold: 'ok' } })
  })

  it('goes on when a person says so, and holds again if nothing has changed', async () => {
    const rig = await start({ effect: fatal })
    await rig.deliver(...ids(300))
    await passHalfSecond(rig)
    const first = count(rig, 'dead-lettered')
    rig.running.resume({ by: 'kim' })
    await passHalfSecond(rig)
    expect(count(rig, 'dead-lettered')).toBeGreaterThanOrEqual(first + HOLD_AFTER)
    expect(count(rig, 'dead-lettered')).toBeLessThan(300)
    expect(rig.running.state).toBe('holding')
    expect(rig.events.filter(({ type }) => type === 'hold-over')).toMatchObject([{ because: 'resumed' }])
  })

  it('gives everything back when it stops while it holds', async () => {
    const rig = await start({ effect: fatal })
    await rig.deliver(...ids(100), { id: '' })
    await passHalfSecond(rig)
    const over = count(rig, 'dead-lettered')
    await rig.running.stop()
    expect([count(rig, 'dead-lettered'), count(rig, 'handed-back')]).toEqual([over, 101 - over])
  })

  it('begins to hold again after a restart, because a timer or a restart mends nothing', async () => {
    const world = new World()
    const rig = await start({ world, effect: fatal })
    await rig.deliver(...ids(200))
    await passHalfSecond(rig)
    await rig.running.stop()
    const next = await start({ world, effect: fatal })
    await next.deliver(...ids(200, 'n'))
    await passHalfSecond(next)
    expect(count(next, 'dead-lettered')).toBeLessThanOrEqual(HOLD_AFTER + 1)
    expect(next.running.state).toBe('holding')
  })

  it('counts no message whose record an earlier process has set aside', async () => {
    const world = new World()
    const rig = await start({ world, hold: false, effect: fatal })
    await rig.deliver(...ids(80))
    await passHalfSecond(rig)
    await rig.running.stop()
    const next = await start({ world })
    await next.deliver(...ids(80))
    await passHalfSecond(next)
    expect([count(next, 'dead-lettered'), next.count('holding')]).toEqual([80, 0])
  })

  it('waits for what runs before it alarms anybody', async () => {
    const opened = gate()
    const rig = await start({
      concurrency: 100,
      transactions: 100,
      batchSize: 1,
      effect: async (work) => {
        if (work.id !== 'slow') fatal()
        await opened.opened
        await work.apply()
      },
    })
    await rig.deliver('slow', ...ids(70))
    await passHalfSecond(rig)
    expect([count(rig, 'dead-lettered'), rig.running.state]).toEqual([HOLD_AFTER, 'running'])
    opened.open()
    await turns()
    await passHalfSecond(rig)
    expect([count(rig, 'dead-lettered'), rig.count('holding')]).toEqual([70, 0])
  })

  it('tries the next message when there was none to try', async () => {
    let isMended = false
    let turnsAsked = 0
    const world = new World()
    const nextTurn = world.clock.nextTurn.bind(world.clock)
    world.clock.nextTurn = (fn) => {
      turnsAsked++
      nextTurn(fn)
    }
    const rig = await start({ world, effect: (work) => (isMended ? work.apply() : fatal()) })
    await rig.deliver(...ids(HOLD_AFTER))
    await passHalfSecond(rig)
    expect(rig.running.state).toBe('holding')
    await rig.clock.advance(300_000)
    expect(rig.running.state).toBe('holding')
    const before = turnsAsked
    for (let turn = 0; turn < 20; turn++) await turns()
    expect(turnsAsked - before).toBe(0)
    await rig.deliver({ id: '' })
    expect([count(rig, 'dead-lettered'), rig.running.state]).toEqual([HOLD_AFTER + 1, 'holding'])
    await rig.clock.advance(60_000)
    isMended = true
    await rig.deliver('later')
    expect([rig.world.effects, rig.running.state]).toEqual([['later'], 'running'])
  })
})

it('the live signals and the log say that it holds, why, and that it is over', async () => {
  const live = liveSignals()
  const lines: string[] = []
  const say = (_: object, text: string): void => void lines.push(text)
  const log = { debug: () => {}, info: () => {}, warn: say, error: say }
  const rig = await startRig({ observe: live, log, effect: fatal })
  await rig.deliver(...ids(80))
  await passHalfSecond(rig)
  const [consumer] = live.snapshot().consumers
  expect(consumer?.counts).toMatchObject({ holding: 1 })
  expect(consumer?.events[0]).toMatchObject({
    event: 'holding',
    detail: 'handler-failed: always',
    isWarning: true,
  })
  rig.running.resume()
  expect(lines.filter((text) => text.includes('hold'))).toEqual([
    'holding: nothing but final failures comes through, see health().checks.hold',
    'no longer holding',
  ])
})

const message = (id: string): Message => ({
  system: 'memory',
  destination: 'd',
  origin: 'd',
  position: id,
  key: null,
  value: null,
  headers: { id },
})

it('a caller of runInline waits while it holds, as while the store is down, and nothing is dead-lettered for it', async () => {
  const clock = new ManualClock()
  let isMended = false
  const inline = runInline(
    defineConsumer({
      name: 'sms',
      store: memoryStore({ clock }),
      id: messageId.header('id'),
      handle: () => (isMended ? undefined : fatal()),
    }),
    { group: 'g', clock },
  )
  await inline.open()
  const ended: string[] = []
  const calls = ids(80).map(async (id) => ended.push((await inline.handle(message(id))).settle))
  await turns()
  await clock.advance(100)
  expect(ended.filter((settle) => settle === 'dead-letter').length).toBeLessThanOrEqual(HOLD_AFTER + 1)
  expect(inline.health()).toMatchObject({ ready: false, state: 'holding' })
  isMended = true
  await clock.advance(1_100)
  await Promise.all(calls)
  expect(ended).toHaveLength(80)
  expect(inline.health()).toMatchObject({ ready: true, state: 'running' })
  await inline.stop()
})
