import { afterEach, describe, expect, it } from '@jest/globals'
import { endRigs, startRig, STYLES, type Rig } from '../kit/rig.ts'

afterEach(endRigs)

/** A store that tells when it may be reached again. */
function listenForReady(rig: Rig): { readonly ready: () => void; readonly listeners: ReadonlySet<() => void> } {
  const listeners = new Set<() => void>()
  rig.store.onReachable = (listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }
  return { ready: () => listeners.forEach((listener) => listener()), listeners }
}

describe.each(STYLES)('a consumer whose store is down ($strategy, $handler)', (style) => {
  it('asks again at most every two seconds, with pauses that grow', async () => {
    const rig = await startRig({ style, effect: (work) => work.apply() })
    rig.store.isDown = true
    await rig.deliver('a')
    await rig.clock.advance(60_000)
    const asked = rig.store.calls('claim').length
    expect(asked).toBeGreaterThan(30)
    expect(asked).toBeLessThan(80)
    rig.store.isDown = false
    await rig.clock.advance(2_000)
    expect(rig.outcomes()).toEqual(['handled'])
  })

  it('asks again a moment after the store may be reached, however long it had been down', async () => {
    const rig = await startRig({ style, effect: (work) => work.apply() })
    const { ready, listeners } = listenForReady(rig)
    rig.store.isDown = true
    await rig.deliver('a')
    await rig.clock.advance(60_000)
    expect(listeners.size).toBe(1)
    rig.store.isDown = false
    ready()
    await rig.clock.advance(250)
    expect(rig.outcomes()).toEqual(['handled'])
    // Only while it is down.
    expect(listeners.size).toBe(0)
  })

  it('has an effect in each gap of a store that comes and goes', async () => {
    const rig = await startRig({ style, effect: (work) => work.apply() })
    const { ready } = listenForReady(rig)
    for (let gap = 1; gap <= 10; gap++) {
      rig.store.isDown = true
      await rig.deliver(`id-${gap}`)
      await rig.clock.advance(5_000)
      rig.store.isDown = false
      ready()
      await rig.clock.advance(500)
      expect(rig.world.effects.length).toBe(gap)
    }
  })

  it('makes no busy loop of a client that is ready all the time, and of none that tells from within', async () => {
    const rig = await startRig({ style, effect: (work) => work.apply() })
    const { ready } = listenForReady(rig)
    rig.store.isDown = true
    await rig.deliver('a')
    for (let at = 0; at < 2_000; at += 1) {
      ready()
      await rig.clock.advance(1)
    }
    expect(rig.store.calls('claim').length).toBeLessThan(2_000 / 20)
    rig.store.isDown = false
    await rig.clock.advance(2_000)
    expect(rig.outcomes()).toEqual(['handled'])
  }, 60_000)

  it('leaves no listener with a client of its user when it stops', async () => {
    const rig = await startRig({ style, effect: (work) => work.apply() })
    const { ready, listeners } = listenForReady(rig)
    rig.store.isDown = true
    await rig.deliver('a')
    await rig.clock.advance(1_000)
    expect(listeners.size).toBe(1)
    ready()
    const stopping = rig.running.stop({ deadlineMs: 0 })
    await rig.clock.advance(10_000)
    await stopping
    expect(listeners.size).toBe(0)
    expect(rig.clock.pending).toBe(0)
  })
})
