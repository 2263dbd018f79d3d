import { afterEach, describe, expect, it } from '@jest/globals'
import { endRigs, gate, startRig, STYLES } from '../../../kit/rig.ts'

afterEach(endRigs)

/** Lease, handler, grace and the longest delay: the time that an attempt may take. */
const SETTINGS = {
  leaseMs: 30_000,
  handlerTimeoutMs: 10_000,
  graceMs: 1_000,
  maxAttempts: 2,
  backoff: { initialMs: 1_000, maxMs: 1_000 },
}
const LONGEST_MS = 42_000

describe.each(STYLES)('a consumer that makes no progress ($strategy, $handler)', (style) => {
  it('is stalled while its dead letters are not confirmed, and no longer', async () => {
    const rig = await startRig({ style, ...SETTINGS, effect: () => Promise.reject(new Error('broken')) })
    const confirmed = gate()
    rig.source.publishHeld = confirmed.opened
    await rig.deliver('a')
    await rig.clock.advance(LONGEST_MS)
    expect(rig.running.health()).toMatchObject({ live: true, ready: true, state: 'running' })
    await rig.clock.advance(LONGEST_MS)
    expect(rig.running.health()).toMatchObject({ live: true, ready: false, state: 'stalled' })
    expect(rig.running.health().checks['progress']).toMatch(
      /^topic.*: 1 under way and none has ended or begun for \d+ s/,
    )
    expect(rig.count('stalled')).toBe(1)
    await rig.clock.advance(LONGEST_MS)
    expect(rig.count('stalled')).toBe(1)
    confirmed.open()
    await rig.clock.advance(LONGEST_MS)
    expect(rig.running.health()).toMatchObject({ ready: true, state: 'running', checks: { progress: 'ok' } })
    expect(rig.count('stall-over')).toBe(1)
  })

  it('is stalled also when the message has no ID', async () => {
    const rig = await startRig({ style, ...SETTINGS, effect: (work) => work.apply() })
    rig.source.publishHeld = new Promise(() => {})
    await rig.deliver('')
    await rig.clock.advance(2 * LONGEST_MS)
    expect(rig.running.state).toBe('stalled')
  })

  it('stays stalled while the store is down too', async () => {
    const rig = await startRig({ style, ...SETTINGS, effect: () => Promise.reject(new Error('broken')) })
    rig.source.publishHeld = new Promise(() => {})
    await rig.deliver('a')
    await rig.clock.advance(2 * LONGEST_MS)
    rig.store.isDown = true
    await rig.deliver('b')
    await rig.clock.advance(LONGEST_MS)
    expect(rig.running.state).toBe('stalled')
    expect([rig.count('store-down'), rig.count('stalled'), rig.count('stall-over')]).toEqual([1, 1, 0])
  })

  it('is not stalled while the store is down', async () => {
    const rig = await startRig({ style, ...SETTINGS, effect: (work) => work.apply() })
    rig.store.isDown = true
    await rig.deliver('a')
    await rig.clock.advance(3 * LONGEST_MS)
    expect(rig.running.health()).toMatchObject({ state: 'running', checks: { store: 'down' } })
    expect(rig.count('stalled')).toBe(0)
    rig.store.isDown = false
    await rig.clock.advance(60_000)
    expect(rig.outcomes()).toEqual(['handled'])
  })

  it('is not stalled while its handler is tried again and again', async () => {
    const rig = await startRig({
      style,
      ...SETTINGS,
      maxAttempts: 100,
      backoff: { initialMs: 30_000, maxMs: 30_000 },
      effect: () => Promise.reject(new Error('broken')),
    })
    await rig.deliver('a')
    for (let n = 0; n < 40; n++) await rig.clock.advance(10_000)
    expect(rig.count('stalled')).toBe(0)
    expect(rig.started.length).toBeGreaterThan(5)
  })

  it('is stalled when the broker has messages that nobody fetches, and no longer once they are', async () => {
    const rig = await startRig({ style, ...SETTINGS, effect: (work) => work.apply() })
    const item = {}
    let next: bigint | undefined = 7n
    rig.source.unfetched = () =>
      next === undefined ? [] : [{ place: 'topic/1', item, step: next, position: `1@${next}` }]
    await rig.deliver('a')
    await rig.clock.advance(2 * LONGEST_MS)
    expect(rig.running.health()).toMatchObject({
      state: 'stalled',
      checks: { progress: expect.stringContaining('1@7') },
    })
    next = 8n
    await rig.clock.advance(15_000)
    expect(rig.running.state).toBe('running')
    next = undefined
    await rig.clock.advance(2 * LONGEST_MS)
    expect(rig.running.state).toBe('running')
    expect(rig.clock.pending).toBe(0)
  })
})
