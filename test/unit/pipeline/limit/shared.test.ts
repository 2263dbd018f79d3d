import { afterEach, describe, expect, it } from '@jest/globals'
import { RetryLaterError, type LimitOptions, type SharedLimit, type SharedPermits } from '../../../../src/index.ts'
import { turns, type ManualClock } from '../../../kit/manual-clock.ts'
import { endRigs, startRig, STYLES, World, type Rig, type RigOptions, type Style } from '../../../kit/rig.ts'

afterEach(endRigs)

/** Counts in windows, as limiters of servers do. */
class WindowLimit implements SharedLimit {
  readonly name = 'sms'
  readonly asked: number[] = []
  readonly keys = new Set<string>()
  fault: 'none' | 'refuses' | 'silent' = 'none'
  #window = { permits: 0, seconds: 1 }
  readonly #clock: ManualClock
  readonly #counted = new Map<string, { until: number; count: number }>()

  constructor(clock: ManualClock) {
    this.#clock = clock
  }

  quota(permits: number, seconds: number): this {
    this.#window = { permits, seconds }
    return this
  }

  async take(key: string, count: number): Promise<SharedPermits> {
    this.asked.push(count)
    this.keys.add(key)
    if (this.fault === 'silent') return new Promise(() => {})
    if (this.fault === 'refuses') throw new Error('connect ECONNREFUSED 127.0.0.1:6379')
    const now = this.#clock.monotonic()
    const known = this.#counted.get(key)
    const counted =
      known === undefined || known.until <= now ? { until: now + this.#window.seconds * 1_000, count: 0 } : known
    this.#counted.set(key, counted)
    const granted = Math.max(0, Math.min(count, this.#window.permits - counted.count))
    counted.count += count
    return { granted, retryAfterMs: counted.until - now }
  }

  async holdBack(key: string, forMs: number): Promise<void> {
    this.#counted.set(key, { until: this.#clock.monotonic() + forMs, count: Number.MAX_SAFE_INTEGER })
  }
}

async function rigWith(
  style: Style,
  world: World,
  limit: LimitOptions,
  more: Partial<Omit<RigOptions, 'style' | 'world' | 'limit'>> = {},
): Promise<Rig> {
  return startRig({ style, world, effect: (work) => work.apply(), ...more, limit })
}

function ids(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, n) => `${name}${n}`)
}

describe.each(STYLES)('a shared limit ($strategy, $handler)', (style) => {
  it('is kept by three processes together, within 2 % [T353]', async () => {
    const world = new World()
    const shared = new WindowLimit(world.clock)
    const limit = { perSecond: 40, burst: 4, shared }
    const rigs: Rig[] = []
    for (let n = 0; n < 3; n++) rigs.push(await rigWith(style, world, limit))
    for (const [n, rig] of rigs.entries()) await rig.deliver(...ids(`p${n}-`, 450))
    const begun = (): number => rigs.reduce((sum, { started }) => sum + started.length, 0)
    await world.clock.advance(1_000)
    const first = begun()
    await world.clock.advance(20_000)
    const perSecond = (begun() - first) / 20
    expect(perSecond).toBeGreaterThan(40 * 0.98)
    expect(perSecond).toBeLessThan(40 * 1.02)
    // Portions of 100 ms: a message costs no call of its own.
    expect(shared.asked.length).toBeLessThan(begun())
  }, 60_000)

  it('is all of one process while the others are idle', async () => {
    const world = new World()
    const limit = { perSecond: 40, burst: 4, shared: new WindowLimit(world.clock) }
    await rigWith(style, world, limit)
    const busy = await rigWith(style, world, limit)
    await busy.deliver(...ids('a', 450))
    await world.clock.advance(1_000)
    const first = busy.started.length
    await world.clock.advance(10_000)
    expect((busy.started.length - first) / 10).toBeGreaterThan(40 * 0.98)
    expect((busy.started.length - first) / 10).toBeLessThan(40 * 1.02)
  })

  it('holds a key back in all processes', async () => {
    const world = new World()
    const shared = new WindowLimit(world.clock)
    const limit = { perSecond: 10, burst: 1, shared }
    let isFirst = true
    const one = await rigWith(style, world, limit, {
      effect: (work) => {
        if (isFirst) {
          isFirst = false
          throw new RetryLaterError({ afterMs: 20_000 })
        }
        return work.apply()
      },
    })
    const other = await rigWith(style, world, limit)
    await one.deliver('a0')
    await world.clock.advance(100)
    await other.deliver('b0')
    await world.clock.advance(19_000)
    expect(other.started).toEqual([])
    await world.clock.advance(2_000)
    expect([one.outcomes(), other.outcomes()]).toEqual([['handled'], ['handled']])
  })

  it.each(['refuses', 'silent'] as const)(
    'lets nothing through while its server %s, and goes on after it [T354]',
    async (fault) => {
      const world = new World()
      const shared = new WindowLimit(world.clock)
      const rig = await rigWith(style, world, { perSecond: 10, burst: 1, shared })
      shared.fault = fault
      await rig.deliver(...ids('a', 5))
      await world.clock.advance(60_000)
      expect(rig.started).toEqual([])
      expect([rig.count('limit-down'), rig.count('limit-up'), rig.count('stalled')]).toEqual([1, 0, 0])
      const health = rig.running.health()
      expect(health).toMatchObject({ ready: false, live: true, state: 'running', limited: 5 })
      expect(health.checks['limit']).toMatch(
        /^nothing begins: the shared limiter sms has not answered for \d+ (s|min): /,
      )
      // With growing delays, up to 5 s.
      expect(shared.asked.length).toBeLessThan(25)
      shared.fault = 'none'
      await world.clock.advance(10_000)
      expect(rig.outcomes()).toEqual(['handled', 'handled', 'handled', 'handled', 'handled'])
      expect([rig.count('limit-up'), rig.running.health().ready]).toEqual([1, true])
    },
  )

  it('is stopped while its server does not answer: messages are handed back, and no timer stays', async () => {
    const world = new World()
    const shared = new WindowLimit(world.clock)
    shared.fault = 'silent'
    const rig = await rigWith(style, world, { perSecond: 10, burst: 1, shared })
    await rig.deliver('a0', 'a1')
    await rig.running.stop()
    expect(rig.outcomes()).toEqual(['handed-back', 'handed-back'])
    expect(world.clock.pending).toBe(0)
  })

  it('takes nonsense of a limiter for nothing granted', async () => {
    const world = new World()
    let answer: unknown = { granted: Number.NaN, retryAfterMs: Number.NaN }
    const shared: SharedLimit = {
      name: 'odd',
      quota: () => ({ take: async () => answer as SharedPermits, holdBack: async () => {} }),
    }
    const rig = await rigWith(style, world, { perSecond: 10, burst: 1, shared })
    await rig.deliver('a0')
    await world.clock.advance(1_000)
    expect(rig.started).toEqual([])
    answer = { granted: 1_000_000, retryAfterMs: 0 }
    await rig.deliver(...ids('b', 10))
    await world.clock.advance(500)
    expect(rig.started.length).toBeLessThanOrEqual(7)
    await world.clock.advance(2_000)
    expect(rig.outcomes().length).toBe(11)
  })

  it('tells its server no key as it is', async () => {
    const world = new World()
    const shared = new WindowLimit(world.clock)
    const rig = await rigWith(style, world, { perSecond: 10, burst: 1, by: () => '+49 170 1234567', shared })
    await rig.deliver('a0')
    await turns()
    expect([...shared.keys].every((key) => /^[\w-]{22}$/.test(key))).toBe(true)
  })
})
