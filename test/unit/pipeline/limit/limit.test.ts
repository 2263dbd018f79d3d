import { afterEach, describe, expect, it } from '@jest/globals'
import type { LimitOptions } from '../../../../src/index.ts'
import type { Message } from '../../../../src/ports/message.ts'
import { turns } from '../../../kit/manual-clock.ts'
import { endRigs, gate, startRig, STYLES, World, type Rig, type RigOptions, type Style } from '../../../kit/rig.ts'

afterEach(endRigs)

/** `a7` belongs to `a`. */
function tenantOf({ headers }: Message): string {
  return String(headers['id']).charAt(0)
}

function ids(tenant: string, count: number): string[] {
  return Array.from({ length: count }, (_, n) => `${tenant}${n}`)
}

function attemptsOf({ world }: Rig): unknown[] {
  return [...world.records.values()].map((record) => ('attempt' in record ? record.attempt : undefined))
}

function begun({ started }: Rig, tenant: string): number {
  return started.filter((id) => id.startsWith(tenant)).length
}

async function rigWith(
  style: Style,
  limit: LimitOptions,
  more: Partial<Omit<RigOptions, 'style' | 'limit'>> = {},
): Promise<Rig> {
  return startRig({ style, effect: (work) => work.apply(), ...more, limit })
}

describe.each(STYLES)('a limit ($strategy, $handler)', (style) => {
  it('lets its burst begin at once, and the others as fast as it says [T350]', async () => {
    const rig = await rigWith(style, { perSecond: 10, burst: 3 })
    await rig.deliver(...ids('a', 30))
    expect(rig.started.length).toBe(3)
    await rig.clock.advance(1_000)
    expect(rig.started.length).toBe(13)
    await rig.clock.advance(1_700)
    expect(rig.started.length).toBe(30)
    expect(rig.outcomes()).toEqual(Array.from({ length: 30 }, () => 'handled'))
  })

  it('makes messages wait before their claim: no claim, no lease, no attempt [T351]', async () => {
    const rig = await rigWith(style, { perSecond: 1, burst: 1 })
    await rig.deliver(...ids('a', 5))
    const asked = rig.store.seen.filter((call) => JSON.stringify(call).includes('claim')).length
    expect(rig.running.health()).toMatchObject({ claimed: 0, limited: 4, inFlight: 4, ready: true, state: 'running' })
    expect(rig.running.health().oldestLimitedMs).toBe(0)
    await rig.clock.advance(500)
    expect(rig.running.health().oldestLimitedMs).toBe(500)
    expect(rig.store.seen.filter((call) => JSON.stringify(call).includes('claim')).length).toBe(asked)
    expect(attemptsOf(rig).length).toBeLessThanOrEqual(1)
    await rig.clock.advance(3_500)
    expect(rig.world.effects).toEqual(ids('a', 5))
    expect(rig.running.health()).toMatchObject({ limited: 0, oldestLimitedMs: 0 })
  })

  it('is a quota for each key, so a busy key does not hold up a quiet one', async () => {
    const rig = await rigWith(style, { perSecond: 1, burst: 1, by: tenantOf })
    await rig.deliver(...ids('a', 20), ...ids('b', 1))
    expect(rig.started.toSorted()).toEqual(['a0', 'b0'])
    await rig.clock.advance(5_000)
    await rig.deliver('b1')
    expect([begun(rig, 'a'), begun(rig, 'b')]).toEqual([6, 2])
  })

  it('shared by all keys is given to them in turns, and a quiet key leaves its share to the others [T352]', async () => {
    const rig = await rigWith(style, { perSecond: 10, burst: 1, by: tenantOf, together: true })
    await rig.deliver(...ids('a', 40), ...ids('b', 8), ...ids('c', 8))
    await rig.clock.advance(2_400)
    expect([begun(rig, 'a'), begun(rig, 'b'), begun(rig, 'c')]).toEqual([9, 8, 8])
    await rig.clock.advance(1_000)
    expect([begun(rig, 'a'), begun(rig, 'b'), begun(rig, 'c')]).toEqual([19, 8, 8])
  })

  it('keeps the order of a lane, also when its messages have different keys', async () => {
    const rig = await rigWith(style, { perSecond: 2, burst: 1, by: tenantOf })
    await rig.deliver(
      { id: 'a0', lane: 'x' },
      { id: 'b0', lane: 'x' },
      { id: 'a1', lane: 'x' },
      { id: 'a2', lane: 'y' },
      { id: 'b1', lane: 'x' },
    )
    await rig.clock.advance(5_000)
    expect(rig.world.effects.filter((id) => id !== 'a2')).toEqual(['a0', 'b0', 'a1', 'b1'])
    expect(rig.outcomes().length).toBe(5)
  })

  it('gives the permit of a duplicate to the next message', async () => {
    const world = new World()
    const before = await startRig({ style, world, effect: (work) => work.apply() })
    await before.deliver(...ids('a', 10))
    await before.running.stop()
    const rig = await rigWith(style, { perSecond: 1, burst: 1 }, { world })
    await rig.deliver(...ids('a', 10), 'b0')
    // Each is found done in a claim of its own, within the shortest wait.
    await rig.clock.advance(200)
    expect(rig.outcomes().filter((outcome) => outcome === 'duplicate').length).toBe(10)
    expect(rig.started).toEqual(['b0'])
  })

  it('makes nothing up for a time in which nothing waited', async () => {
    const rig = await rigWith(style, { perSecond: 10, burst: 2 })
    await rig.deliver('a0')
    await rig.clock.advance(60_000)
    await rig.deliver(...ids('b', 10))
    expect(begun(rig, 'b')).toBe(2)
    await rig.clock.advance(100)
    expect(begun(rig, 'b')).toBe(3)
  })

  it('makes nothing up for a time in which the store was down', async () => {
    const rig = await rigWith(style, { perSecond: 10, burst: 2 })
    await rig.deliver('a0')
    rig.store.isDown = true
    await rig.deliver(...ids('b', 40))
    await rig.clock.advance(30_000)
    rig.store.isDown = false
    await rig.clock.advance(2_000)
    const first = begun(rig, 'b')
    await rig.clock.advance(1_000)
    expect(begun(rig, 'b') - first).toBeLessThanOrEqual(10)
    expect(first).toBeLessThanOrEqual(2 + 20 + 1)
    await rig.clock.advance(5_000)
    expect(begun(rig, 'b')).toBe(40)
  })

  it('ends at a stop: what waits is handed back, and no timer stays', async () => {
    const rig = await rigWith(style, { perSecond: 1, burst: 1 })
    await rig.deliver(...ids('a', 5))
    await rig.running.stop()
    expect(rig.outcomes().toSorted()).toEqual(['handed-back', 'handed-back', 'handed-back', 'handed-back', 'handled'])
    expect(rig.clock.pending).toBe(0)
  })

  it('lets go of what waits when its partition is revoked', async () => {
    const rig = await rigWith(style, { perSecond: 1, burst: 1 })
    const [, ...waiting] = await rig.deliver(...ids('a', 4))
    rig.source.stand('lost', ...waiting)
    await turns()
    expect(rig.outcomes()).toEqual(['handled', 'handed-back', 'handed-back', 'handed-back'])
    await rig.deliver('b0')
    await rig.clock.advance(1_000)
    expect(rig.started).toEqual(['a0', 'b0'])
  })

  it('keeps to the bound of what is in flight', async () => {
    const rig = await rigWith(style, { perSecond: 1, burst: 1 }, { concurrency: 2, batchSize: 1, maxInFlight: 4 })
    await rig.deliver(...ids('a', 6))
    expect(rig.source.isPaused).toBe(true)
    expect(rig.running.health()).toMatchObject({ inFlight: 5, state: 'running' })
    await rig.clock.advance(10_000)
    expect(rig.outcomes().length).toBe(6)
  })

  it('is no stall, however long it takes, and health says what the consumer does', async () => {
    const rig = await rigWith(style, { perSecond: 0.01, burst: 1 })
    await rig.deliver(...ids('a', 3), { id: 'b0', lane: 'x' }, { id: 'b1', lane: 'x' })
    for (let n = 0; n < 30; n++) await rig.clock.advance(10_000)
    expect(rig.started).toEqual(['a0', 'a1', 'a2', 'b0'])
    expect([rig.count('stalled'), rig.running.state]).toEqual([0, 'running'])
    expect(rig.running.health()).toMatchObject({
      ready: true,
      limited: 1,
      checks: { limit: '1 waits for the limit of 0.01 a second' },
    })
    await rig.clock.advance(100_000)
    expect(rig.running.health()).toMatchObject({ limited: 0, checks: { limit: 'ok' } })
  })

  it('does not hide a real stall of another partition', async () => {
    const held = gate()
    const rig = await rigWith(
      style,
      { perSecond: 0.01, burst: 1 },
      { effect: () => Promise.reject(new Error('broken')), maxAttempts: 1 },
    )
    rig.source.publishHeld = held.opened
    await rig.deliver('a0', 'a1')
    for (let n = 0; n < 60; n++) await rig.clock.advance(10_000)
    expect(rig.count('stalled')).toBe(1)
    held.open()
    await rig.clock.advance(1_000)
  })

  it('takes a key that is no text for the key of none, and tells it', async () => {
    const rig = await rigWith(style, {
      perSecond: 1,
      burst: 1,
      by: (message) => {
        if (tenantOf(message) === 'a') throw new TypeError('no tenant')
        return undefined as unknown as string
      },
    })
    await rig.deliver('a0', 'b0', 'b1')
    await rig.clock.advance(2_000)
    expect(rig.outcomes()).toEqual(['handled', 'handled', 'handled'])
    expect(rig.events.filter((event) => event.type === 'policy-threw' && event.policy === 'limit.by').length).toBe(3)
  })

  it('forgets keys that are as new, so that many keys take no memory', async () => {
    const rig = await rigWith(style, { perSecond: 1_000, burst: 1, by: ({ headers }) => String(headers['id']) })
    for (let n = 0; n < 6; n++) {
      await rig.deliver(...ids(`k${n}-`, 400))
      await rig.clock.advance(100)
    }
    expect(rig.started.length).toBe(2_400)
  })
})
