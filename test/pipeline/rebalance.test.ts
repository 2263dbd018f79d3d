import { afterEach, describe, expect, it } from '@jest/globals'
import { NoEffectError } from '../../src/errors.ts'
import { turns } from '../support/manual-clock.ts'
import { aborted, endRigs, gate, startRig, STYLES, World } from '../support/rig.ts'

afterEach(endRigs)

describe.each(STYLES)('a rebalance ($strategy, $handler)', (style) => {
  it('lets a handler of a kept partition go on; its redelivered copy joins, and is settled in the new epoch', async () => {
    const held = gate()
    const signals: AbortSignal[] = []
    const rig = await startRig({
      style,
      effect: async (work) => {
        signals.push(work.signal)
        await held.opened
        await work.apply()
      },
    })
    const [old] = await rig.deliver({ id: 'a', lane: 'l' })
    if (old === undefined) throw new Error('no delivery')
    rig.source.stand('stale', old)
    const [copy] = rig.source.redeliver(old)
    held.open()
    await rig.clock.advance(0)
    expect(rig.started).toEqual(['a'])
    expect(signals.map((signal) => signal.aborted)).toEqual([false])
    expect(rig.outcomes()).toEqual(['settle-refused', 'joined'])
    expect(rig.events.find((event) => event.type === 'delivery')).toMatchObject({ refused: 'handled' })
    expect([old.settled, copy?.settled]).toEqual([0, 1])
  })

  it('refuses the settle of an epoch that is over, and the later copy is a duplicate', async () => {
    const held = gate()
    const rig = await startRig({ style, effect: (work) => held.opened.then(work.apply) })
    const [old] = await rig.deliver('a')
    if (old === undefined) throw new Error('no delivery')
    rig.source.stand('stale', old)
    held.open()
    await rig.clock.advance(0)
    rig.source.redeliver(old)
    await rig.clock.advance(0)
    expect(rig.outcomes()).toEqual(['settle-refused', 'duplicate'])
    expect(rig.world.effects).toEqual(['a'])
  })

  it('aborts a handler whose partition is lost; when it ends well all the same it marks, and settles nothing', async () => {
    const rig = await startRig({
      style,
      effect: async (work) => {
        await work.apply()
        expect(await aborted(work.signal)).toMatchObject({ code: 'DELIVERY_LOST' })
      },
    })
    const [lost] = await rig.deliver('a')
    if (lost === undefined) throw new Error('no delivery')
    rig.source.stand('lost', lost)
    await rig.clock.advance(0)
    expect(rig.journal).toEqual(['mark marked'])
    expect(rig.outcomes()).toEqual(['settle-refused'])
    expect(lost.settled).toBe(0)
    await rig.deliver('a')
    expect(rig.outcomes()).toEqual(['settle-refused', 'duplicate'])
  })

  it('spends no attempt on a handler that was interrupted and did nothing', async () => {
    const world = new World()
    const rig = await startRig({
      style,
      world,
      maxAttempts: 1,
      effect: async (work) => {
        await aborted(work.signal)
        throw new NoEffectError('had not begun')
      },
    })
    const deliveries = await rig.deliver('a', 'b')
    rig.source.stand('lost', ...deliveries)
    await rig.clock.advance(0)
    expect(rig.outcomes()).toEqual(['handed-back', 'handed-back'])
    expect(rig.journal).toEqual([])
    const next = await startRig({ style, world, maxAttempts: 1, effect: (work) => work.apply() })
    await next.deliver('a', 'b')
    expect(next.outcomes()).toEqual(['handled', 'handled'])
  })

  it('starts no handler for what was lost while it was claimed, and spends no attempt on it', async () => {
    const world = new World()
    const answering = gate()
    const rig = await startRig({ style, world, maxAttempts: 1, effect: (work) => work.apply() })
    rig.store.script('claim', answering.opened)
    const [a] = await rig.deliver('a', 'b')
    if (a === undefined) throw new Error('no delivery')
    rig.source.stand('lost', a)
    answering.open()
    await rig.clock.advance(0)
    expect(rig.started).toEqual(['b'])
    expect(rig.outcomes()).toEqual(['handed-back', 'handled'])
    const next = await startRig({ style, world, maxAttempts: 1, effect: (work) => work.apply() })
    await next.deliver('a')
    expect(next.outcomes()).toEqual(['handled'])
  })

  it('hands back at once what waits in lanes that are lost', async () => {
    const held = gate()
    const rig = await startRig({ style, effect: () => held.opened })
    await rig.deliver({ id: 'a', lane: 'l' })
    const waiting = await rig.deliver({ id: 'b', lane: 'l' }, { id: 'c', lane: 'l' })
    rig.source.stand('lost', ...waiting)
    expect(rig.outcomes()).toEqual(['handed-back', 'handed-back'])
    held.open()
    await rig.clock.advance(0)
    expect(rig.started).toEqual(['a'])
  })

  it.each([0, 1, 2, 3, 4, 5, 6, 7, 8])(
    'keeps the order of a lane whose queue is delivered again %i turns after a slot is free',
    async (most) => {
      const held = gate()
      const rig = await startRig({
        style,
        concurrency: 1,
        transactions: 1,
        batchSize: 1,
        effect: async (work) => {
          if (work.id === 'first') await held.opened
          await work.apply()
        },
      })
      await rig.deliver('first')
      const queued = await rig.deliver(...['l1', 'l2', 'l3'].map((id) => ({ id, lane: 'l' })))
      rig.source.stand('stale', ...queued)
      held.open()
      await turns(most)
      rig.source.redeliver(...queued)
      await turns()
      expect(rig.world.effects).toEqual(['first', 'l1', 'l2', 'l3'])
    },
  )

  it('keeps a pause between attempts when the redelivered copy has joined', async () => {
    const rig = await startRig({
      style,
      retry: { initialMs: 10_000, maxMs: 10_000 },
      effect: (work) => (work.attempt === 1 ? Promise.reject(new Error('broken')) : work.apply()),
    })
    const [old] = await rig.deliver('a')
    if (old === undefined) throw new Error('no delivery')
    rig.source.redeliver(old)
    rig.source.stand('stale', old)
    await rig.clock.advance(7_000)
    expect(rig.started).toEqual(['a'])
    await rig.clock.advance(1_000)
    expect(rig.outcomes()).toEqual(['settle-refused', 'joined'])
  })
})
