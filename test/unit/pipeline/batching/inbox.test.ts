import { afterEach, describe, expect, it } from '@jest/globals'
import { TerminalError, TransactionError } from '../../../../src/foundation/errors.ts'
import { turns } from '../../../kit/manual-clock.ts'
import { aborted, endRigs, gate, startRig, STYLES, World, type Rig, type Work } from '../../../kit/rig.ts'

afterEach(endRigs)

const RETRY = { initialMs: 100, maxMs: 100 }
const INBOXES = STYLES.filter(({ strategy }) => strategy === 'inbox')

describe.each(INBOXES)('a transaction ($handler)', (style) => {
  it('holds a batch: claimed, and committed, in one call each', async () => {
    const rig = await startRig({ style, shares: true, effect: (work) => work.apply() })
    await rig.deliver('a', 'b', 'c')
    expect(rig.store.calls('claim').map(({ keys }) => keys.length)).toEqual([3])
    expect(rig.store.calls('mark').map(({ keys }) => keys.length)).toEqual([3])
    expect(rig.world.effects).toEqual(['a', 'b', 'c'])
  })

  it('with one message that fails is rolled back, and the others run again without it: they commit, attempts are right [T6]', async () => {
    const attempts: string[] = []
    const rig = await startRig({
      style,
      shares: true,
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
    // A batch handler does not tell which message failed.
    const ofBad = style.handler === 'handle' ? ['bad1', 'bad2'] : ['bad1', 'bad1', 'bad2']
    expect(attempts.filter((run) => run.startsWith('bad'))).toEqual(ofBad)
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

/** Counted starts of messages of which the rig has claimed nothing else. */
function attemptsOf(world: World, rig: Rig, ...ids: readonly string[]): readonly number[] {
  const [claim] = rig.store.calls('claim')
  const place = ['a', 'b', 'c']
  return ids.map((id) => world.database.attempts.get(claim?.keys[place.indexOf(id)] ?? '') ?? -1)
}

const start = (world: World, effect: (work: Work) => unknown): Promise<Rig> =>
  startRig({
    style: { strategy: 'inbox', handler: 'handle' },
    world,
    shares: true,
    maxAttempts: 2,
    graceMs: 1_000,
    effect,
  })

describe('a transaction of many handlers', () => {
  it('begins none that waits for its turn once a stop is asked for, and commits what still ends', async () => {
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
    expect(world.effects).toEqual(['a'])
    expect(rig.outcomes()).toEqual(['handled', 'handed-back', 'handed-back'])
    expect(attemptsOf(world, rig, 'b', 'c')).toEqual([0, 0])
    const next = await start(world, (work) => work.apply())
    await next.deliver('a', 'b', 'c')
    expect(world.effects).toEqual(['a', 'b', 'c'])
  })

  it('ends at its next handler when a stop is asked for: what ended commits, what never began has no attempt', async () => {
    const world = new World()
    const [first, second] = [gate(), gate()]
    const rig = await start(world, async (work) => {
      await (work.id === 'a' ? first : second).opened
      await work.apply()
    })
    await rig.deliver('a', 'b', 'c')
    first.open()
    await turns()
    expect([...rig.now]).toEqual(['b'])
    const stopping = rig.running.stop({ deadlineMs: 60_000 })
    await turns()
    second.open()
    // Nothing waits for the deadline.
    await stopping
    expect(world.effects).toEqual(['a', 'b'])
    expect(rig.started).toEqual(['a', 'b'])
    expect(attemptsOf(world, rig, 'c')).toEqual([0])
  })

  it('counts the attempt of the handler that the stop deadline finds, and of no other', async () => {
    const world = new World()
    const rig = await start(world, (work) => (work.id === 'b' ? new Promise(() => {}) : work.apply()))
    await rig.deliver('a', 'b', 'c')
    const stopping = rig.running.stop({ deadlineMs: 100 })
    await rig.clock.advance(2_000)
    await stopping
    expect(world.effects).toEqual([])
    expect(attemptsOf(world, rig, 'a', 'b', 'c')).toEqual([0, 1, 0])
  })

  it('that fails: its attempt counts for the message that failed, and the others commit without it', async () => {
    const world = new World()
    const rig = await start(world, async (work) => {
      await work.apply()
      if (work.id === 'bad') throw new Error('broken')
    })
    await rig.deliver('a', 'b', 'bad', 'c', 'd')
    expect(world.effects.toSorted()).toEqual(['a', 'b', 'c', 'd'])
    const sizes = rig.store.calls('mark').map(({ keys }) => keys.length)
    expect(sizes).toEqual([2, 2])
    expect(rig.started).toEqual(['a', 'b', 'bad', 'a', 'b', 'c', 'd'])
    await rig.clock.advance(60_000)
    expect(rig.source.deadLetters).toMatchObject([{ reason: 'attempts-spent', attempts: 2 }])
  })

  it('that fails for ever, as one of many: the others run twice at most', async () => {
    const world = new World()
    const rig = await start(world, async (work) => {
      if (work.id === 'bad') throw new TerminalError('never')
      await work.apply()
    })
    await rig.deliver('a', 'b', 'c', 'bad', 'd', 'e', 'f')
    expect(world.effects.toSorted()).toEqual(['a', 'b', 'c', 'd', 'e', 'f'])
    expect(rig.source.deadLetters).toMatchObject([{ reason: 'handler-failed', attempts: 1 }])
    for (const id of world.effects) expect(rig.started.filter((one) => one === id).length).toBeLessThanOrEqual(2)
  })

  it('that nobody can blame on a message runs again in parts, down to the one that fails', async () => {
    const world = new World()
    const rig = await start(world, async (work) => {
      await work.apply()
      // A failed query that it swallows: COMMIT is refused to all.
      if (work.id === 'm11') await work.tx?.fail().catch(() => {})
    })
    const ids = Array.from({ length: 16 }, (_, at) => `m${at}`)
    await rig.deliver(...ids)
    expect(world.effects.length).toBe(15)
    expect(world.effects).not.toContain('m11')
    expect(rig.store.calls('claim').length).toBeLessThanOrEqual(12)
  })

  it('whose first handler fails judges that message at once, and gives the others back untouched', async () => {
    const world = new World()
    const rig = await start(world, async (work) => {
      if (work.id === 'bad') throw new Error('broken')
      await work.apply()
    })
    await rig.deliver('bad', 'c', 'd')
    expect(rig.started).toEqual(['bad', 'c', 'd'])
    expect(world.effects).toEqual(['c', 'd'])
    await rig.clock.advance(60_000)
    expect(rig.source.deadLetters).toMatchObject([{ attempts: 2 }])
  })

  it('leaves out a message that cannot be decoded, and those behind it in its lane, and commits the others', async () => {
    const world = new World()
    const rig = await start(world, (work) => work.apply())
    const undecodable = { id: 'bad', bytes: Buffer.from('{'), lane: 'l' }
    await rig.deliver('a', undecodable, { id: 'behind', lane: 'l' }, 'b')
    expect(rig.source.deadLetters).toMatchObject([{ reason: 'undecodable' }])
    expect(world.effects).toEqual(['a', 'b', 'behind'])
    expect(rig.store.calls('mark').map(({ keys }) => keys.length)).toEqual([2, 1])
    expect(rig.store.calls('release')).toEqual([])
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
