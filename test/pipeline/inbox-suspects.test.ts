import { afterEach, describe, expect, it } from '@jest/globals'
import { turns } from '../support/manual-clock.ts'
import { endRigs, gate, startRig, STYLES, World } from '../support/rig.ts'

afterEach(endRigs)

const RETRY = { initialMs: 100, maxMs: 100 }
const INBOXES = STYLES.filter(({ strategy }) => strategy === 'inbox')

describe.each(INBOXES)('a message with an attempt that another process counted ($handler)', (style) => {
  async function dead(world: World, ...ids: readonly string[]): Promise<void> {
    const rig = await startRig({ style, world, effect: () => new Promise(() => {}) })
    await rig.deliver(...ids)
    rig.inbox.die()
    rig.store.isDown = true
  }

  it('runs beside nothing: it may be what killed that process', async () => {
    const world = new World()
    await dead(world, 'a', 'b')
    const held = new Map(['x', 'a', 'b', 'y'].map((id) => [id, gate()]))
    const rig = await startRig({ style, world, batchSize: 1, effect: (work) => held.get(work.id)?.opened })
    await rig.deliver('x')
    await rig.deliver('a', 'b')
    await rig.deliver('y')
    for (const id of ['x', 'a', 'b', 'y']) {
      expect([...rig.now]).toEqual([id])
      held.get(id)?.open()
      await turns()
    }
    expect(rig.outcomes()).toEqual(['handled', 'handled', 'handled', 'handled'])
  })

  it('is given up when all its attempts killed their process, and its neighbours are unharmed', async () => {
    const world = new World()
    const settings = { style, world, maxAttempts: 3 }
    for (let death = 1; death <= 3; death++) {
      const dying = await startRig({
        ...settings,
        effect: (work) => (work.id === 'poison' ? new Promise<void>(() => {}) : work.apply()),
      })
      await dying.deliver('a', 'b', 'poison', 'c', 'd')
      dying.inbox.die()
      dying.store.isDown = true
    }
    const rig = await startRig({ ...settings, effect: (work) => work.apply() })
    await rig.deliver('a', 'b', 'poison', 'c', 'd')
    expect(world.effects.toSorted()).toEqual(['a', 'b', 'c', 'd'])
    expect(rig.source.deadLetters).toMatchObject([
      { reason: 'attempts-spent', parked: false, attempts: 3, detail: '3 attempts were started' },
    ])
  })

  it('is not overtaken in its lane', async () => {
    const world = new World()
    await dead(world, 'l1')
    const rig = await startRig({ style, world, effect: (work) => work.apply() })
    await rig.deliver(...['l1', 'l2', 'l3'].map((id) => ({ id, lane: 'l' })), 'x')
    expect(world.effects.filter((id) => id !== 'x')).toEqual(['l1', 'l2', 'l3'])
    expect(rig.outcomes()).toEqual(['handled', 'handled', 'handled', 'handled'])
    expect([...world.database.attempts.entries()].every(([, attempts]) => attempts <= 2)).toBe(true)
  })

  it('is not overtaken by another such message of its lane, when it fails', async () => {
    const world = new World()
    await dead(world, 'l1', 'l2')
    const rig = await startRig({
      style,
      world,
      retry: RETRY,
      effect: (work) => (work.id === 'l1' && work.attempt === 2 ? Promise.reject(new Error('broken')) : work.apply()),
    })
    await rig.deliver(...['l1', 'l2', 'l3'].map((id) => ({ id, lane: 'l' })))
    await rig.clock.advance(1_000)
    expect(world.effects).toEqual(['l1', 'l2', 'l3'])
  })

  // Seeds 464031, 534041, 920951 of the simulator.
  it.each([
    ['l1', 'l2', 'l3'],
    ['l1', 'l2'],
  ])('does not overtake in its lane: %s, %s, %s', async (...ids) => {
    const world = new World()
    await dead(world, 'l2')
    const held = gate()
    const rig = await startRig({
      style,
      world,
      retry: RETRY,
      effect: async (work) => {
        await held.opened
        if (work.id === 'l1' && work.attempt === 1) throw new Error('broken')
        await work.apply()
      },
    })
    await rig.deliver(...ids.map((id) => ({ id, lane: 'l' })))
    await rig.clock.advance(10_000)
    held.open()
    await rig.clock.advance(20_000)
    expect(world.effects).toEqual(ids)
  })

  it('is not overtaken in its lane while it is busy', async () => {
    const world = new World()
    const held = gate()
    const first = await startRig({ style, world, effect: (work) => held.opened.then(work.apply) })
    await first.deliver('l2')
    const rig = await startRig({ style, world, effect: (work) => work.apply() })
    await rig.deliver(...['l1', 'l2', 'l3'].map((id) => ({ id, lane: 'l' })))
    await rig.clock.advance(5_000)
    expect(world.effects).toEqual(['l1'])
    held.open()
    await rig.clock.advance(2_000)
    expect(world.effects).toEqual(['l1', 'l2', 'l3'])
  })
})
