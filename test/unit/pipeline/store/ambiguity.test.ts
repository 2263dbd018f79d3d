import { afterEach, describe, expect, it } from '@jest/globals'
import { endRigs, gate, startRig, STYLES, World } from '../../../kit/rig.ts'

afterEach(endRigs)

describe.each(STYLES)('an answer that is not known ($strategy, $handler)', (style) => {
  it.each(['lose-request', 'lose-reply'] as const)(
    'of a claim (%s) is asked for again with the same token',
    async (fault) => {
      const rig = await startRig({ style, effect: (work) => work.apply() })
      rig.store.script('claim', fault, fault)
      await rig.deliver('a')
      await rig.clock.advance(1_000)
      const tokens = rig.store.calls('claim').map(({ token }) => token)
      expect(tokens.length).toBe(3)
      expect(new Set(tokens).size).toBe(1)
      expect(rig.events.find((event) => event.type === 'delivery')).toMatchObject({ outcome: 'handled', attempt: 1 })
      expect(rig.started).toEqual(['a'])
    },
  )

  it.each(['lose-request', 'lose-reply'] as const)(
    'of a mark (%s) is asked for again: handled once, never released',
    async (fault) => {
      const rig = await startRig({ style, effect: (work) => work.apply() })
      rig.store.script('mark', fault, fault)
      const [delivery] = await rig.deliver('a')
      expect(delivery?.settled).toBe(0)
      await rig.clock.advance(1_000)
      expect(delivery?.settled).toBe(1)
      expect(rig.world.effects).toEqual(['a'])
      expect(rig.outcomes()).toEqual(['handled'])
      expect(rig.store.calls('release')).toEqual([])
    },
  )

  it('of a release is asked for again, and the attempt counts once', async () => {
    const attempts: number[] = []
    const rig = await startRig({
      style,
      backoff: { initialMs: 100, maxMs: 100 },
      effect: (work) => {
        attempts.push(work.attempt)
        if (work.attempt === 1) throw new Error('broken')
        return work.apply()
      },
    })
    rig.store.script('release', 'lose-reply', 'lose-request')
    await rig.deliver('a')
    await rig.clock.advance(2_000)
    expect(attempts).toEqual([1, 2])
    expect(rig.outcomes()).toEqual(['handled'])
  })

  it('is what an answer too short is taken for: nothing is settled on it', async () => {
    const rig = await startRig({ style, effect: (work) => work.apply() })
    rig.store.script('claim', 'answer-too-few')
    rig.store.script('mark', 'answer-too-few')
    const deliveries = await rig.deliver('a', 'b')
    expect(deliveries.map(({ settled }) => settled)).toEqual([0, 0])
    await rig.clock.advance(2_000)
    expect(deliveries.map(({ settled }) => settled)).toEqual([1, 1])
    expect(rig.world.effects.toSorted()).toEqual(['a', 'b'])
  })
})

describe.each(STYLES)('a store that is down ($strategy, $handler)', (style) => {
  it('pauses the source, is told once, and nothing is lost when it comes back by itself [T142]', async () => {
    const rig = await startRig({ style, effect: (work) => work.apply() })
    rig.store.isDown = true
    await rig.deliver('a', 'b')
    await rig.deliver('c')
    await rig.clock.advance(60_000)
    expect(rig.source.isPaused).toBe(true)
    expect(rig.running.health()).toMatchObject({ live: true, ready: false, checks: { store: 'down' } })
    expect(rig.started).toEqual([])
    expect(rig.count('store-down')).toBe(1)
    rig.store.isDown = false
    await rig.clock.advance(10_000)
    expect(rig.source.isPaused).toBe(false)
    expect(rig.outcomes()).toEqual(['handled', 'handled', 'handled'])
    expect(rig.count('store-up')).toBe(1)
    expect(rig.running.health().ready).toBe(true)
  })

  it('starts no handler, and keeps what its handlers did until it can be marked [T143]', async () => {
    const held = gate()
    const rig = await startRig({
      style,
      effect: async (work) => {
        await work.apply()
        await held.opened
      },
    })
    await rig.deliver('a')
    rig.store.isDown = true
    held.open()
    await rig.clock.advance(20_000)
    await rig.deliver('b')
    await rig.clock.advance(20_000)
    expect(rig.started).toEqual(['a'])
    expect(rig.outcomes()).toEqual([])
    rig.store.isDown = false
    await rig.clock.advance(10_000)
    expect(rig.outcomes()).toEqual(['handled', 'handled'])
    expect(rig.started).toEqual(['a', 'b'])
  })
})

describe.each(STYLES.filter(({ strategy }) => strategy === 'lease'))('a mark that is refused ($handler)', (style) => {
  it('settles nothing: another owner has the message, which is claimed again', async () => {
    const world = new World()
    const [held, other] = [gate(), gate()]
    const slow = await startRig({ style, world, leaseMs: 1_000, effect: () => held.opened })
    const [delivery] = await slow.deliver('a')
    slow.clock.skip(5_000)
    const second = await startRig({ style, world, effect: (work) => other.opened.then(work.apply) })
    await second.deliver('a')
    held.open()
    await slow.clock.advance(5_000)
    expect(slow.journal).toEqual(['mark refused-busy'])
    expect(slow.count('lease-lost')).toBe(1)
    expect(delivery?.settled).toBe(0)
    other.open()
    await slow.clock.advance(2_000)
    expect(slow.outcomes()).toEqual(['duplicate'])
    expect(delivery?.settled).toBe(1)
  })

  it('ends the delivery as lease-lost where that is not ours any more', async () => {
    const world = new World()
    const held = gate()
    const slow = await startRig({ style, world, leaseMs: 1_000, effect: () => held.opened })
    const deliveries = await slow.deliver('a')
    slow.clock.skip(5_000)
    const second = await startRig({ style, world, effect: (work) => work.apply() })
    await second.deliver('a')
    slow.source.stand('lost', ...deliveries)
    held.open()
    await slow.clock.advance(0)
    expect(slow.outcomes()).toEqual(['lease-lost'])
  })
})
