import { afterEach, describe, expect, it } from '@jest/globals'
import { TransactionError } from '../../../../src/foundation/errors.ts'
import { turns } from '../../../kit/manual-clock.ts'
import { aborted, endRigs, gate, startRig, STYLES, World, type Rig, type Work } from '../../../kit/rig.ts'

afterEach(endRigs)

const RETRY = { initialMs: 100, maxMs: 100 }
const INBOXES = STYLES.filter(({ strategy }) => strategy === 'inbox')

describe.each(INBOXES)('a transaction ($handler)', (style) => {
  it('holds a batch: claimed, and committed, in one call each', async () => {
    const rig = await startRig({ style, effect: (work) => work.apply() })
    await rig.deliver('a', 'b', 'c')
    expect(rig.store.calls('claim').map(({ keys }) => keys.length)).toEqual([3])
    expect(rig.store.calls('mark').map(({ keys }) => keys.length)).toEqual([3])
    expect(rig.world.effects).toEqual(['a', 'b', 'c'])
  })

  it('with one message that fails is rolled back, and each runs again alone: the innocent commit, attempts are right [T6]', async () => {
    const attempts: string[] = []
    const rig = await startRig({
      style,
      backoff: RETRY,
      maxAttempts: 2,
      effect: async (work) => {
        attempts.push(`${work.id}${work.attempt}`)
        await work.apply()
        if (work.id === 'bad') throw new Error('broken')
      },
    })
    await rig.deliver('a', 'bad', 'b')
    expect(rig.world.effects.toSorted()).toEqual(['a', 'b'])
    await rig.clock.advance(1_000)
    expect(attempts.filter((run) => run.startsWith('bad'))).toEqual(['bad1', 'bad1', 'bad2'])
    expect(attempts.every((run) => run.startsWith('bad') || run.endsWith('1'))).toBe(true)
    expect(rig.outcomes().toSorted()).toEqual(['dead-lettered', 'handled', 'handled'])
    expect(rig.source.deadLetters).toMatchObject([{ reason: 'attempts-spent', attempts: 2, parked: false }])
    expect(rig.world.effects.toSorted()).toEqual(['a', 'b'])
  })

  it('has its effect once, and as often as its handler starts what is done outside of it [T12]', async () => {
    const outside: string[] = []
    const rig = await startRig({
      style,
      backoff: RETRY,
      effect: async (work) => {
        await work.apply()
        outside.push(work.id)
        if (work.attempt === 1) throw new Error('broken')
      },
    })
    await rig.deliver('a')
    await rig.clock.advance(100)
    expect(rig.world.effects).toEqual(['a'])
    expect(outside.length).toBeGreaterThan(1)
    expect(outside).toEqual(rig.started)
  })

  it('is refused its COMMIT while a query is pending, and the message is tried again [T67]', async () => {
    const rig = await startRig({
      style,
      backoff: RETRY,
      effect: async (work) => {
        await work.apply()
        if (work.attempt === 1) void work.tx?.stall()
      },
    })
    await rig.deliver('a')
    expect(rig.world.effects).toEqual([])
    await rig.clock.advance(100)
    expect(rig.world.effects).toEqual(['a'])
    expect(rig.events.find(({ type }) => type === 'attempt-failed')).toMatchObject({
      error: { code: 'FLOATING_QUERY' },
    })
  })

  it('that refuses to commit is a failure that is known: it is not asked again', async () => {
    const rig = await startRig({ style, backoff: RETRY, maxAttempts: 1, effect: (work) => work.apply() })
    rig.store.script('mark', new TransactionError('COMMIT_REFUSED', 'a deferred constraint'))
    await rig.deliver('a')
    expect(rig.store.calls('mark').length).toBe(1)
    expect(rig.journal).toEqual(['record given-up', 'dead letter attempts-spent', 'settle'])
    expect(rig.world.effects).toEqual([])
  })

  it('is rolled back with a handler that ran into its timeout, and its queries are refused from then on', async () => {
    const refused: unknown[] = []
    const rig = await startRig({
      style,
      backoff: RETRY,
      handlerTimeoutMs: 1_000,
      effect: async (work) => {
        await work.apply()
        if (work.attempt > 1) return
        await aborted(work.signal)
        await work.tx?.insert('late').catch((error: unknown) => {
          refused.push(error)
          throw error
        })
      },
    })
    await rig.deliver('a')
    await rig.clock.advance(2_000)
    expect(refused).toMatchObject([{ code: 'TRANSACTION_OVER' }])
    expect(rig.world.effects).toEqual(['a'])
    expect(rig.events.find((event) => event.type === 'delivery')).toMatchObject({ outcome: 'handled', attempt: 2 })
  })

  it('is rolled back under a handler that ignores its signal, whose later queries touch nothing', async () => {
    const stuck = gate()
    let late: Promise<unknown> | undefined
    const rig = await startRig({
      style,
      backoff: RETRY,
      handlerTimeoutMs: 1_000,
      graceMs: 1_000,
      effect: async (work) => {
        await work.apply()
        if (work.attempt > 1) return
        await stuck.opened
        late = work.tx?.insert('late')
        await late
      },
    })
    await rig.deliver('a')
    await rig.clock.advance(3_000)
    expect(rig.world.effects).toEqual(['a'])
    stuck.open()
    await turns()
    await expect(late).rejects.toMatchObject({ code: 'TRANSACTION_OVER' })
    expect(rig.world.effects).toEqual(['a'])
    expect(rig.outcomes()).toEqual(['handled'])
  })

  it('is one of as many as are allowed', async () => {
    const held = gate()
    const rig = await startRig({ style, transactions: 2, batchSize: 2, effect: () => held.opened })
    await rig.deliver('a', 'b', 'c', 'd', 'e')
    expect(rig.inbox.openTransactions).toBe(2)
    held.open()
    await turns()
    expect(rig.outcomes().length).toBe(5)
  })

  it('shares nothing with a row that is held elsewhere: each of the batch finds out for itself', async () => {
    const world = new World()
    const held = gate()
    const first = await startRig({ style, world, effect: (work) => held.opened.then(work.apply) })
    await first.deliver('b')
    const rig = await startRig({ style, world, effect: (work) => work.apply() })
    await rig.deliver('a', 'b', 'c')
    expect(world.effects).toEqual(['a', 'c'])
    held.open()
    await rig.clock.advance(2_000)
    expect(rig.outcomes()).toEqual(['handled', 'handled', 'duplicate'])
  })
})

const start = (world: World, effect: (work: Work) => unknown): Promise<Rig> =>
  startRig({ style: { strategy: 'inbox', handler: 'handle' }, world, maxAttempts: 2, graceMs: 1_000, effect })

describe('a transaction of many handlers', () => {
  it('begins none that waits for its turn when the stop deadline has passed, and is rolled back', async () => {
    const world = new World()
    const rig = await start(world, async (work) => {
      await work.apply()
      await aborted(work.signal)
    })
    await rig.deliver('a', 'b', 'c')
    const stopping = rig.running.stop({ deadlineMs: 100 })
    await rig.clock.advance(100)
    await stopping
    expect(rig.started).toEqual(['a'])
    expect(world.effects).toEqual([])
    const next = await start(world, (work) => work.apply())
    await next.deliver('a', 'b', 'c')
    expect(world.effects).toEqual(['a', 'b', 'c'])
  })

  it('that is longer than the time between two stops comes to an end: what is counted runs in smaller ones', async () => {
    const world = new World()
    const ids = ['a', 'b', 'c', 'd']
    for (let stop = 1; stop <= 5 && world.effects.length < ids.length; stop++) {
      const rig = await start(world, async (work) => {
        await new Promise<void>((resolve) => void world.clock.after(100, resolve))
        await work.apply()
      })
      await rig.deliver(...ids)
      const stopping = rig.running.stop({ deadlineMs: 150 })
      await world.clock.advance(1_500)
      await stopping
    }
    expect(world.effects.toSorted()).toEqual(ids)
  })

  it('goes on when a partition of it is lost: all of it commits, and what was lost settles nothing', async () => {
    const world = new World()
    const held = gate()
    const rig = await start(world, async (work) => {
      if (work.id === 'a') await held.opened
      await work.apply()
    })
    const [, b] = await rig.deliver('a', 'b', 'c')
    rig.source.stand('lost', ...(b === undefined ? [] : [b]))
    held.open()
    await turns()
    expect(rig.started).toEqual(['a', 'b', 'c'])
    expect(world.effects).toEqual(['a', 'b', 'c'])
    expect(rig.outcomes()).toEqual(['handled', 'settle-refused', 'handled'])
  })

  it('is rolled back when the stop deadline finds a query pending, and its attempt counts', async () => {
    const world = new World()
    const rig = await start(world, async (work) => {
      const stalled = work.tx?.stall()
      await Promise.race([stalled, aborted(work.signal)])
    })
    await rig.deliver('a')
    const stopping = rig.running.stop({ deadlineMs: 100 })
    await rig.clock.advance(100)
    await stopping
    expect(rig.outcomes()).toEqual(['handed-back'])
    expect(rig.store.calls('setAside')).toEqual([])
    const next = await start(world, (work) => work.apply())
    await next.deliver('a')
    expect(next.events.find((event) => event.type === 'delivery')).toMatchObject({ outcome: 'handled', attempt: 2 })
  })
})
