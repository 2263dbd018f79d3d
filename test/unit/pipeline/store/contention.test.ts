import { afterEach, describe, expect, it } from '@jest/globals'
import { endRigs, gate, startRig, STYLES, World } from '../../../kit/rig.ts'

afterEach(endRigs)

describe.each(STYLES)('a message that another process has ($strategy, $handler)', (style) => {
  it('waits in its lane, is never settled, and is a duplicate once the other is done', async () => {
    const world = new World()
    const held = gate()
    const first = await startRig({
      style,
      world,
      effect: async (work) => {
        await held.opened
        await work.apply()
      },
    })
    const second = await startRig({ style, world, effect: (work) => work.apply() })
    await first.deliver('a')
    await second.deliver({ id: 'a', lane: 'l' }, { id: 'b', lane: 'l' }, { id: 'c', lane: 'm' })
    await second.clock.advance(20_000)
    expect(second.world.effects).toEqual(['c'])
    expect(second.outcomes()).toEqual(['handled'])
    held.open()
    await second.clock.advance(2_000)
    expect(second.outcomes()).toEqual(['handled', 'duplicate', 'handled'])
    expect(world.effects).toEqual(['c', 'a', 'b'])
  })

  it('spends no attempt by waiting', async () => {
    const world = new World()
    const held = gate()
    const attempts: number[] = []
    const first = await startRig({
      style,
      world,
      maxAttempts: 2,
      effect: async () => {
        await held.opened
        throw new Error('broken')
      },
    })
    const second = await startRig({
      style,
      world,
      maxAttempts: 2,
      effect: (work) => {
        attempts.push(work.attempt)
        return work.apply()
      },
    })
    await first.deliver('a')
    await second.deliver('a')
    await second.clock.advance(20_000)
    expect(second.store.calls('claim').length).toBeGreaterThan(10)
    held.open()
    const stopping = first.running.stop()
    await second.clock.advance(2_000)
    await stopping
    expect(attempts).toEqual([2])
    expect(second.outcomes()).toEqual(['handled'])
  })

  it('asks a busy store at a measured pace', async () => {
    const world = new World()
    const first = await startRig({ style, world, effect: () => gate().opened })
    const second = await startRig({ style, world, effect: (work) => work.apply() })
    await first.deliver('a')
    await second.deliver('a')
    await second.clock.advance(10_000)
    expect(second.store.calls('claim').length).toBeLessThan(150)
  })
})
