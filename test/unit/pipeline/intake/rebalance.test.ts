import { afterEach, describe, expect, it } from '@jest/globals'
import { NoEffectError } from '../../../../src/foundation/errors.ts'
import { turns } from '../../../kit/manual-clock.ts'
import { aborted, endRigs, gate, startRig, STYLES, World } from '../../../kit/rig.ts'

afterEach(endRigs)

const LEASES = STYLES.filter(({ strategy }) => strategy === 'lease')
const INBOXES = STYLES.filter(({ strategy }) => strategy === 'inbox')

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

  it('starts no handler for what was lost while it was claimed, and spends no attempt on it', async () => {
    const world = new World()
    const answering = gate()
    const rig = await startRig({ style, world, shares: true, maxAttempts: 2, effect: (work) => work.apply() })
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
      backoff: { initialMs: 10_000, maxMs: 10_000 },
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

describe.each(LEASES)('a handler under a lease whose partition is lost ($handler)', (style) => {
  it('is aborted; when it ends well all the same it marks, and settles nothing', async () => {
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

  it.each([
    ['says that it did nothing', new NoEffectError('had not begun'), 'given-up'],
    ['says nothing about it', new Error('aborted'), 'parked'],
  ])('spends an attempt when it %s, so that it cannot go on for ever', async (_, error, record) => {
    const rig = await startRig({
      style,
      maxAttempts: 3,
      effect: async (work) => {
        await aborted(work.signal)
        throw error
      },
    })
    for (let attempt = 1; attempt <= 3; attempt++) {
      rig.source.stand('lost', ...(await rig.deliver('a')))
      await rig.clock.advance(0)
    }
    expect(rig.outcomes()).toEqual(['handed-back', 'handed-back', 'handed-back'])
    await rig.deliver('a')
    expect(rig.started).toEqual(['a', 'a', 'a'])
    expect(rig.journal).toEqual([`record ${record}`, 'dead letter attempts-spent', 'settle'])
  })
})

describe.each(INBOXES)('a handler in a transaction whose partition or channel is lost ($handler)', (style) => {
  it('goes on, is not aborted, and commits: only the settle is refused, and the redelivery is a duplicate', async () => {
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
    const lost = await rig.deliver('a')
    rig.source.stand('lost', ...lost)
    await rig.clock.advance(1_000)
    expect(signals.map((signal) => signal.aborted)).toEqual([false])
    held.open()
    await turns()
    expect(rig.world.effects).toEqual(['a'])
    expect(rig.outcomes()).toEqual(['settle-refused'])
    await rig.deliver('a')
    expect(rig.outcomes()).toEqual(['settle-refused', 'duplicate'])
    expect(rig.started).toEqual(['a'])
  })

  it('is joined by each redelivery here, however often they are lost, and runs once for all of them', async () => {
    const held = gate()
    const rig = await startRig({ style, effect: (work) => held.opened.then(work.apply) })
    for (let cut = 1; cut <= 5; cut++) {
      rig.source.stand('lost', ...(await rig.deliver('a', 'b')))
      await rig.clock.advance(300)
    }
    await rig.deliver('a', 'b')
    held.open()
    await turns()
    expect(rig.world.effects.toSorted()).toEqual(['a', 'b'])
    expect([...new Set(rig.started)].toSorted()).toEqual(rig.started.toSorted())
    expect(rig.outcomes().filter((outcome) => outcome === 'joined').length).toBe(2)
  })

  it('is waited for by the process that has the redelivery, which finds it done', async () => {
    const world = new World()
    const held = gate()
    const first = await startRig({ style, world, effect: (work) => held.opened.then(work.apply) })
    first.source.stand('lost', ...(await first.deliver('a')))
    const second = await startRig({ style, world, effect: (work) => work.apply() })
    await second.deliver('a')
    await world.clock.advance(10_000)
    expect(second.started).toEqual([])
    held.open()
    await world.clock.advance(2_000)
    expect(world.effects).toEqual(['a'])
    expect([first.outcomes(), second.outcomes()]).toEqual([['settle-refused'], ['duplicate']])
  })

  it('spends an attempt when it fails, so that it reaches maxAttempts however often its delivery is lost', async () => {
    const rig = await startRig({
      style,
      maxAttempts: 3,
      effect: async (work) => {
        await work.apply()
        if (work.id === 'bad') throw new Error('broken')
      },
    })
    for (let delivery = 1; delivery <= 20; delivery++) {
      const answering = gate()
      rig.store.script('mark', answering.opened)
      const lost = await rig.deliver('bad', 'good')
      rig.source.stand('lost', ...lost)
      answering.open()
      await rig.clock.advance(1_000)
    }
    expect(rig.source.deadLetters[0]).toMatchObject({ reason: 'attempts-spent', attempts: 3 })
    expect(rig.world.effects).toEqual(['good'])
  })
})
