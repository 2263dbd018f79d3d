import { afterEach, describe, expect, it } from '@jest/globals'
import { turns } from '../kit/manual-clock.ts'
import { endRigs, gate, startRig, STYLES, World, type Rig } from '../kit/rig.ts'

afterEach(endRigs)

const RETRY = { initialMs: 100, maxMs: 100 }
const INBOXES = STYLES.filter(({ strategy }) => strategy === 'inbox')

const given = new Set<string>()
afterEach(() => given.clear())

describe.each(INBOXES)('a message with an attempt that another process counted ($handler)', (style) => {
  async function dead(world: World, ...ids: readonly string[]): Promise<void> {
    const rig = await startRig({ style, world, effect: () => new Promise(() => {}) })
    await rig.deliver(...ids)
    rig.inbox.die()
    rig.store.isDown = true
  }

  it('runs beside others, which go on whatever it takes', async () => {
    const world = new World()
    await dead(world, 'slow', 'b')
    const slow = gate()
    const rig = await startRig({
      style,
      world,
      batchSize: 1,
      effect: (work) => (work.id === 'slow' ? slow.opened : work.apply()),
    })
    await rig.deliver('x', 'slow', 'b', 'y')
    expect(world.effects.toSorted()).toEqual(['b', 'x', 'y'])
    expect(rig.running.health()).toMatchObject({ ready: true, checks: { handlers: '1 in flight' } })
    slow.open()
    await turns()
    expect(rig.outcomes()).toEqual(['handled', 'handled', 'handled', 'handled'])
  })

  it('in its last attempt runs beside nothing: that would cost one of them its last attempt', async () => {
    const world = new World()
    const settings = { style, world, batchSize: 1, maxAttempts: 2 }
    await dead(world, 'a', 'b')
    const held = new Map(['x', 'a', 'b', 'y'].map((id) => [id, gate()]))
    const rig = await startRig({ ...settings, effect: (work) => held.get(work.id)?.opened })
    await rig.deliver('x')
    await rig.deliver('a', 'b')
    await rig.deliver('y')
    for (const id of ['x', 'a', 'b', 'y']) {
      expect([...rig.now]).toEqual([id])
      held.get(id)?.open()
      await turns()
    }
    expect(rig.count('apart')).toBe(2)
    expect(rig.outcomes()).toEqual(['handled', 'handled', 'handled', 'handled'])
  })

  it('in its last attempt holds up nobody while another process is busy with it', async () => {
    const world = new World()
    await dead(world, 'a')
    const [held, long] = [gate(), gate()]
    const settings = { style, world, batchSize: 1, maxAttempts: 2 }
    const rig = await startRig({ ...settings, effect: (work) => (work.id === 'long' ? long.opened : work.apply()) })
    await rig.deliver('long')
    // Found to be in its last attempt, it waits for its neighbour; another process is quicker.
    await rig.deliver('a')
    const quicker = await startRig({ ...settings, effect: (work) => held.opened.then(work.apply) })
    await quicker.deliver('a')
    expect([...quicker.now]).toEqual(['a'])
    await rig.clock.advance(2_000)
    for (let second = 0; second < 5; second++) {
      await rig.deliver(`x${second}`)
      expect(world.effects).toContain(`x${second}`)
      await rig.clock.advance(1_000)
    }
    expect(rig.count('apart')).toBe(1)
    held.open()
    long.open()
    await rig.clock.advance(2_000)
    expect(rig.outcomes().filter((outcome) => outcome === 'duplicate').length).toBe(1)
  })

  it('comes with as many as may run together: 2,000 of them take dozens of transactions, not 2,000', async () => {
    const world = new World()
    const ids = Array.from({ length: 2_000 }, (_, index) => `m${index}`)
    const settings = { style, world, maxInFlight: 4_000, batchSize: 500 }
    const dying = await startRig({ ...settings, effect: () => new Promise(() => {}) })
    await dying.deliver(...ids)
    dying.inbox.die()
    dying.store.isDown = true
    const rig = await startRig({ ...settings, effect: (work) => work.apply() })
    await rig.deliver(...ids)
    await turns(2_000)
    expect(world.effects.length).toBe(2_000)
    expect(rig.store.calls('mark').length).toBeLessThanOrEqual(50)
  })

  it('in its last attempt is seen by health when it is slow', async () => {
    const world = new World()
    await dead(world, 'slow')
    const slow = gate()
    const rig = await startRig({
      style,
      world,
      maxAttempts: 2,
      effect: (work) => (work.id === 'slow' ? slow.opened : work.apply()),
    })
    await rig.deliver('slow', 'x')
    await rig.clock.advance(5_000)
    expect(rig.running.health()).toMatchObject({
      live: true,
      ready: false,
      checks: { handlers: expect.stringMatching(/1 run apart and hold up the rest for \d s/) },
    })
    slow.open()
    await turns()
    expect(rig.running.health().ready).toBe(true)
  })

  it('is found among 2,000: the killers are given up, no other is, and each has one effect', async () => {
    const world = new World()
    const ids = Array.from({ length: 2_000 }, (_, index) => `m${index}`)
    const killers = new Set(['m7', 'm1234', 'm1999'])
    const settings = { style, world, maxInFlight: 4_000, batchSize: 500 }
    let deaths = 0
    let rig: Rig
    for (;;) {
      let isDead = false
      rig = await startRig({
        ...settings,
        effect: async (work) => {
          await work.apply()
          if (!killers.has(work.id) && !isDead) return
          isDead = true
          dying.inbox.die()
          dying.store.isDown = true
          await new Promise(() => {})
        },
      })
      const dying = rig
      await rig.deliver(...ids.filter((id) => !world.effects.includes(id) && !given.has(id)))
      await turns(2_000)
      for (const { message } of rig.source.deadLetters) given.add(String(message.headers['id']))
      if (!isDead) break
      deaths++
      if (deaths > 50) throw new Error('it does not come to an end')
    }
    expect([...given].toSorted()).toEqual([...killers].toSorted())
    expect(world.effects.length).toBe(1_997)
    expect(new Set(world.effects).size).toBe(1_997)
    expect(deaths).toBeLessThanOrEqual(5 * killers.size)
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
      backoff: RETRY,
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
      backoff: RETRY,
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

  it('does not overtake in its lane, and is not overtaken when the one before it succeeds', async () => {
    const world = new World()
    await dead(world, 'l2')
    const rig = await startRig({ style, world, backoff: RETRY, effect: (work) => work.apply() })
    await rig.deliver(...['l1', 'l2', 'l3'].map((id) => ({ id, lane: 'l' })))
    await rig.clock.advance(30_000)
    expect(world.effects).toEqual(['l1', 'l2', 'l3'])
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
