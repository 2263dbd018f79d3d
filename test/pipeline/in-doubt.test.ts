import { afterEach, describe, expect, it } from '@jest/globals'
import { OutcomeUnknownError, TerminalError } from '../../src/foundation/errors.ts'
import type { Reconciled } from '../../src/consumer/options.ts'
import { endRigs, gate, startRig, STYLES, World, type Rig } from '../kit/rig.ts'

afterEach(endRigs)

const RETRY = { initialMs: 100, maxMs: 100 }
const LEASES = STYLES.filter(({ strategy }) => strategy === 'lease')
const unknown = (): never => {
  throw new OutcomeUnknownError('the provider did not answer')
}

/** Leaves claims behind whose lease has run out, as a process that was killed does. */
async function die(rig: Rig): Promise<void> {
  rig.store.isDown = true
  await rig.clock.advance(200_000)
}

describe.each(LEASES)('an outcome that is unknown ($strategy, $handler)', (style) => {
  it('is run again alone, after a pause, under rerun', async () => {
    const rig = await startRig({
      style,
      backoff: RETRY,
      effect: (work) => (work.attempt === 1 ? unknown() : work.apply()),
    })
    await rig.deliver('a')
    expect(rig.started).toEqual(['a'])
    await rig.clock.advance(100)
    expect(rig.outcomes()).toEqual(['handled'])
    expect(rig.store.calls('claim').map(({ alone }) => alone)).toEqual([false, false, true])
  })

  it('is parked at once under park: written down, dead-lettered, settled [T45]', async () => {
    const rig = await startRig({ style, onInDoubt: 'park', effect: unknown })
    await rig.deliver('a')
    expect(rig.journal).toEqual(['record parked', 'dead letter in-doubt', 'settle'])
    expect(rig.outcomes()).toEqual(['parked'])
    expect(rig.source.deadLetters).toMatchObject([{ parked: true, detail: 'the provider did not answer' }])
  })

  /** The limit of parking: any other throw asserts that no effect happened. */
  it('has its effect twice where its handler throws something else after it [T52]', async () => {
    const rig = await startRig({
      style,
      backoff: RETRY,
      onInDoubt: 'park',
      effect: async (work) => {
        await work.apply()
        if (work.attempt === 1) throw new Error('the connection was lost')
      },
    })
    await rig.deliver('a')
    await rig.clock.advance(100)
    expect(rig.outcomes()).toEqual(['handled'])
    expect(rig.world.effects).toEqual(['a', 'a'])
  })

  it('is never given up, only parked, when its attempts are spent [T46]', async () => {
    const rig = await startRig({ style, backoff: RETRY, maxAttempts: 2, effect: unknown })
    await rig.deliver('a')
    await rig.clock.advance(1_000)
    expect(rig.started).toEqual(['a', 'a'])
    expect(rig.journal).toEqual(['record parked', 'dead letter attempts-spent', 'settle'])
    expect(rig.source.deadLetters).toMatchObject([{ attempts: 2 }])
  })

  it('stays in doubt when a later attempt fails plainly', async () => {
    const rig = await startRig({
      style,
      backoff: RETRY,
      maxAttempts: 5,
      effect: (work) => {
        if (work.attempt === 1) unknown()
        throw new TerminalError('no such number')
      },
    })
    await rig.deliver('a')
    await rig.clock.advance(1_000)
    expect(rig.journal).toEqual(['record parked', 'dead letter handler-failed', 'settle'])
  })
})

describe.each(LEASES)('a claim that a dead process left ($strategy, $handler)', (style) => {
  async function afterDeath(world: World, ...ids: readonly string[]): Promise<void> {
    const dead = await startRig({ style, world, effect: () => new Promise(() => {}) })
    await dead.deliver(...ids)
    await die(dead)
  }

  it('is run again alone under rerun', async () => {
    const world = new World()
    await afterDeath(world, 'a')
    const rig = await startRig({ style, world, effect: (work) => work.apply() })
    await rig.deliver('a')
    expect(rig.outcomes()).toEqual(['handled'])
    expect(rig.events.find((event) => event.type === 'delivery')).toMatchObject({ attempt: 2 })
    expect(rig.count('in-doubt')).toBe(1)
  })

  it('is parked without a handler under park [T49]', async () => {
    const world = new World()
    await afterDeath(world, 'a', 'b')
    const rig = await startRig({ style, world, onInDoubt: 'park', effect: (work) => work.apply() })
    await rig.deliver('a', 'b')
    expect(rig.started).toEqual([])
    expect(rig.outcomes()).toEqual(['parked', 'parked'])
    expect(rig.source.deadLetters).toMatchObject([{ attempts: 1 }, { attempts: 1 }])
  })

  it('runs beside nothing but its like: the others wait until it has ended', async () => {
    const world = new World()
    await afterDeath(world, 'a', 'b')
    const held = new Map(['x', 'a', 'b', 'y'].map((id) => [id, gate()]))
    const rig = await startRig({ style, world, effect: (work) => held.get(work.id)?.opened })
    await rig.deliver('x')
    await rig.deliver('a', 'b')
    await rig.deliver('y')
    expect([...rig.now]).toEqual(['x'])
    held.get('x')?.open()
    await rig.clock.advance(0)
    expect([...rig.now]).toContain('a')
    expect([...rig.now]).not.toContain('y')
    expect(rig.events).toContainEqual(
      expect.objectContaining({ type: 'apart', keys: [expect.any(String), expect.any(String)] }),
    )
    for (const id of ['a', 'b']) held.get(id)?.open()
    await rig.clock.advance(0)
    expect(rig.started).toEqual(['x', 'a', 'b', 'y'])
    held.get('y')?.open()
    await rig.clock.advance(0)
    expect(rig.outcomes()).toEqual(['handled', 'handled', 'handled', 'handled'])
  })

  it('holds up nobody when it is merely slow: after 2 s the others go on beside it', async () => {
    const world = new World()
    await afterDeath(world, 'slow')
    const slow = gate()
    const rig = await startRig({ style, world, effect: (work) => (work.id === 'slow' ? slow.opened : work.apply()) })
    await rig.deliver('slow')
    await rig.deliver('x')
    await rig.clock.advance(1_900)
    expect(world.effects).toEqual([])
    await rig.clock.advance(200)
    expect(world.effects).toEqual(['x'])
    expect(rig.running.health().ready).toBe(true)
    slow.open()
    await rig.clock.advance(10_000)
    expect(rig.outcomes()).toEqual(['handled', 'handled'])
  })

  it('holds up nobody with many slow ones: each group waits as long as the others have had', async () => {
    const world = new World()
    const slow = Array.from({ length: 40 }, (_, index) => `slow${index}`)
    await afterDeath(world, ...slow)
    const rig = await startRig({
      style: { ...style, handler: 'handle' },
      world,
      effect: async (work) => {
        if (work.id.startsWith('slow')) await new Promise<void>((resolve) => void world.clock.after(30_000, resolve))
        await work.apply()
      },
    })
    await rig.deliver(...slow)
    let waited = 0
    for (let second = 0; second < 40; second++) {
      await rig.deliver(`x${second}`)
      await rig.clock.advance(1_000)
      waited = rig.started.includes(`x${second}`) ? 0 : waited + 1
      expect(waited).toBeLessThanOrEqual(5)
    }
    await rig.clock.advance(40_000)
    expect(rig.outcomes().filter((outcome) => outcome === 'handled').length).toBe(80)
  })

  it('in its last attempt runs beside nothing until it has ended, and health says so', async () => {
    const world = new World()
    await afterDeath(world, 'slow')
    const slow = gate()
    const settings = { style, world, maxAttempts: 2 }
    const rig = await startRig({
      ...settings,
      effect: (work) => (work.id === 'slow' ? slow.opened : work.apply()),
    })
    await rig.deliver('slow')
    await rig.deliver('x')
    await rig.clock.advance(10_000)
    expect(rig.running.health()).toMatchObject({ live: true, ready: false })
    expect(rig.running.health().checks['handlers']).toBe('2 in flight, 1 run apart and hold up the rest for 10 s')
    expect(world.effects).toEqual([])
    slow.open()
    await rig.clock.advance(0)
    expect(world.effects).toEqual(['x'])
    expect(rig.running.health()).toMatchObject({ live: true, ready: true })
  })

  it('is not held up for ever by a long neighbour', async () => {
    const world = new World()
    await afterDeath(world, 'a')
    const rig = await startRig({ style, world, effect: (work) => (work.id === 'x' ? gate().opened : work.apply()) })
    await rig.deliver('x')
    await rig.deliver('a')
    await rig.clock.advance(2_000)
    expect(rig.world.effects).toEqual(['a'])
  })

  it('runs in smaller company with each attempt', async () => {
    const world = new World()
    const ids = Array.from({ length: 64 }, (_, index) => `m${index}`)
    const companies: number[] = []
    for (let death = 1; death <= 4; death++) {
      const dying = await startRig({
        style: { ...style, handler: 'handle' },
        world,
        effect: () => new Promise(() => {}),
      })
      await dying.deliver(...ids)
      companies.push(dying.now.size)
      await die(dying)
    }
    // What has fewer attempts comes first.
    expect(companies).toEqual([64, 22, 8, 8])
  })

  it('is parked when it kills its process each time, and costs no neighbour its last attempt', async () => {
    const world = new World()
    const ids = ['a', 'killer', 'b', 'c']
    const settings = { style: { ...style, handler: 'handle' }, world, maxAttempts: 3 } as const
    const deadLetters: string[] = []
    for (let life = 1; life <= 6; life++) {
      const rig = await startRig({
        ...settings,
        effect: async (work) => {
          await Promise.resolve()
          if (work.id === 'killer') rig.store.isDown = true
          if (rig.store.isDown) await new Promise(() => {})
          await work.apply()
        },
      })
      await rig.deliver(...ids)
      deadLetters.push(...rig.source.deadLetters.map(({ message }) => String(message.headers['id'])))
      if (!rig.store.isDown) break
      await die(rig)
    }
    expect([...new Set(deadLetters)]).toEqual(['killer'])
    expect([...new Set(world.effects)].toSorted()).toEqual(['a', 'b', 'c'])
  })

  it('begins only when what has too much company is given back: it could kill the process before', async () => {
    const world = new World()
    for (let death = 1; death <= 2; death++) await afterDeath(world, 'a', 'b')
    const released = gate()
    const rig = await startRig({ style, world, maxAttempts: 3, effect: (work) => work.apply() })
    rig.store.script('release', released.opened)
    await rig.deliver('a', 'b')
    expect(rig.started).toEqual([])
    released.open()
    await rig.clock.advance(10_000)
    expect(rig.started.toSorted()).toEqual(['a', 'b'])
    expect(rig.peak).toBe(1)
  })

  it('ends parked, not given up, when every attempt killed its process', async () => {
    const world = new World()
    for (let death = 1; death <= 3; death++) await afterDeath(world, 'a')
    const rig = await startRig({ style, world, maxAttempts: 3, effect: (work) => work.apply() })
    await rig.deliver('a', 'b')
    expect(rig.started).toEqual(['b'])
    expect(rig.journal.filter((entry) => !entry.startsWith('mark'))).toEqual(
      expect.arrayContaining(['record parked', 'dead letter attempts-spent']),
    )
    expect(rig.outcomes().toSorted()).toEqual(['handled', 'parked'])
    expect(rig.source.deadLetters).toMatchObject([{ attempts: 3 }])
  })
})

describe.each(LEASES)('reconcile ($strategy, $handler)', (style) => {
  const inDoubt = async (reconcile: () => Reconciled | Promise<Reconciled>): Promise<Rig> => {
    const rig = await startRig({
      style,
      backoff: RETRY,
      onInDoubt: reconcile,
      effect: (work) => (work.id === 'a' && work.attempt === 1 ? unknown() : work.apply()),
    })
    await rig.deliver('a')
    await rig.clock.advance(100)
    return rig
  }

  it('marks what it says has happened, without a handler', async () => {
    const rig = await inDoubt(() => 'happened')
    expect(rig.started).toEqual(['a'])
    expect(rig.outcomes()).toEqual(['handled'])
    expect(rig.journal).toEqual(['mark marked', 'settle'])
  })

  it('runs again what it says has not', async () => {
    const rig = await inDoubt(() => Promise.resolve('did-not-happen'))
    expect(rig.world.effects).toEqual(['a'])
    expect(rig.outcomes()).toEqual(['handled'])
  })

  it.each<readonly [string, () => Reconciled | Promise<Reconciled>]>([
    ['cannot tell', () => 'unknown'],
    ['throws', () => Promise.reject(new Error('provider down'))],
    ['answers something else', () => 'maybe' as Reconciled],
  ])('parks when it %s', async (_, reconcile) => {
    const rig = await inDoubt(reconcile)
    expect(rig.started).toEqual(['a'])
    expect(rig.outcomes()).toEqual(['parked'])
    expect(rig.source.deadLetters).toMatchObject([{ attempts: 1 }])
  })

  it('that never answers counts as stuck, and the others go on', async () => {
    const rig = await inDoubt(() => new Promise(() => {}))
    await rig.deliver('b')
    expect(rig.started).toEqual(['a'])
    await rig.clock.advance(66_000)
    expect(rig.running.health()).toMatchObject({ live: false })
    expect(rig.world.effects).toEqual(['b'])
  })

  it('that answers too late is not heard: its message went on without it', async () => {
    const answers = [gate<Reconciled>(), gate<Reconciled>()]
    let asked = 0
    const rig = await inDoubt(() => answers[asked++]?.opened ?? 'unknown')
    await rig.clock.advance(66_000)
    expect(rig.running.health().live).toBe(false)
    await rig.clock.advance(60_000)
    expect(asked).toBe(2)
    answers[0]?.open('did-not-happen')
    await rig.clock.advance(0)
    expect(rig.started).toEqual(['a'])
    answers[1]?.open('happened')
    await rig.clock.advance(0)
    expect(rig.outcomes()).toEqual(['handled'])
    expect(rig.running.health().live).toBe(true)
  })
})
