import { afterEach, describe, expect, it } from '@jest/globals'
import { NoEffectError } from '../../../src/foundation/errors.ts'
import { turns } from '../../kit/manual-clock.ts'
import { aborted, endRigs, gate, startRig, STYLES, World, type Rig, type RigOptions, type Work } from '../../kit/rig.ts'

afterEach(endRigs)

const BRIEF = { graceMs: 1_000 }

/** Whether it has resolved, without waiting for it. */
async function hasEnded(work: Promise<unknown>): Promise<boolean> {
  let ended = false
  void work.finally(() => {
    ended = true
  })
  await turns()
  return ended
}

describe.each(STYLES)('stop ($strategy, $handler)', (style) => {
  it('gives every caller the same promise, and stops once', async () => {
    const rig = await startRig({ style, effect: (work) => work.apply() })
    const first = rig.running.stop()
    expect(rig.running.stop({ deadlineMs: 1 })).toBe(first)
    expect(rig.running[Symbol.asyncDispose]()).toBe(first)
    await first
    expect(rig.running.stop()).toBe(first)
    expect(rig.running.state).toBe('stopped')
    expect(rig.source.calls).toEqual(['stopIntake', 'close'])
  })

  it('lets handlers end, marks and settles them, and hands back what has not begun', async () => {
    const held = gate()
    const rig = await startRig({ style, batchSize: 1, concurrency: 1, transactions: 1, effect: () => held.opened })
    const [a, b] = await rig.deliver('a', 'b')
    const stopping = rig.running.stop()
    expect(rig.running.state).toBe('draining')
    await turns()
    expect(rig.source.calls).toEqual(['stopIntake'])
    held.open()
    await stopping
    expect([a?.settled, b?.settled]).toEqual([1, 0])
    expect(rig.outcomes().toSorted()).toEqual(['handed-back', 'handled'])
    expect(rig.started).toEqual(['a'])
    expect(rig.source.calls).toEqual(['stopIntake', 'close'])
  })

  it('takes no new work, and does not wait for it', async () => {
    const held = gate()
    const rig = await startRig({ style, effect: () => held.opened })
    const [running] = await rig.deliver('a')
    const stopping = rig.running.stop()
    await rig.deliver('late', { id: '' })
    const [copy] = running === undefined ? [] : rig.source.redeliver(running)
    expect(rig.outcomes()).toEqual(['handed-back', 'handed-back'])
    held.open()
    await stopping
    expect(rig.outcomes()).toEqual(['handed-back', 'handed-back', 'handled', 'joined'])
    expect(copy?.settled).toBe(1)
    expect(rig.source.deadLetters).toEqual([])
  })

  it('aborts handlers at the deadline, and what they then finish is still marked and settled', async () => {
    const rig = await startRig({
      ...BRIEF,
      style,
      effect: async (work) => {
        await work.apply()
        expect(await aborted(work.signal)).toMatchObject({ code: 'STOPPED' })
      },
    })
    const [delivery] = await rig.deliver('a')
    const stopping = rig.running.stop({ deadlineMs: 5_000 })
    await rig.clock.advance(4_900)
    expect(await hasEnded(stopping)).toBe(false)
    await rig.clock.advance(200)
    expect(await hasEnded(stopping)).toBe(true)
    expect(delivery?.settled).toBe(1)
  })

  it.each([
    ['says that nothing happened', new NoEffectError('stopped in time')],
    ['says nothing about it', new Error('stopped')],
  ])('spends an attempt on what its deadline interrupted and which %s', async (_, error) => {
    const world = new World()
    const interrupted = async (work: Work): Promise<void> => {
      await aborted(work.signal)
      throw error
    }
    const settings = { style, world, maxAttempts: 2 }
    for (let stop = 1; stop <= 2; stop++) {
      const rig = await startRig({ ...BRIEF, ...settings, effect: interrupted })
      await rig.deliver('a')
      const stopping = rig.running.stop({ deadlineMs: 100 })
      await rig.clock.advance(100)
      await stopping
      expect(rig.outcomes()).toEqual(['handed-back'])
    }
    const next = await startRig({ ...settings, effect: (work) => work.apply() })
    await next.deliver('a')
    expect(next.started).toEqual([])
    expect(next.source.deadLetters).toMatchObject([{ reason: 'attempts-spent', attempts: 2 }])
  })

  it('gives back claims whose handler never began, without spending an attempt', async () => {
    const world = new World()
    const rig = await startRig({ style, world, maxAttempts: 1, effect: (work) => work.apply() })
    const answering = gate()
    rig.store.script('claim', answering.opened)
    await rig.deliver('a')
    const stopping = rig.running.stop()
    answering.open()
    await stopping
    expect(rig.started).toEqual([])
    expect(rig.store.calls('release').map(({ refund }) => refund)).toEqual([true])
    const next = await startRig({ style, world, maxAttempts: 1, effect: (work) => work.apply() })
    await next.deliver('a')
    expect(next.outcomes()).toEqual(['handled'])
  })

  it('hands back what waits for a retry, and leaves no timer', async () => {
    const rig = await startRig({ style, effect: () => Promise.reject(new Error('broken')) })
    await rig.deliver({ id: 'a', lane: 'l' }, { id: 'b', lane: 'l' })
    await rig.running.stop()
    expect(rig.outcomes()).toEqual(['handed-back', 'handed-back'])
    expect(rig.clock.pending).toBe(0)
  })
})

const start = (options: Partial<RigOptions> = {}): Promise<Rig> =>
  startRig({ ...BRIEF, effect: (work) => work.apply(), ...options })

describe('stop', () => {
  it('drains and closes although the source cannot end its intake, and says so', async () => {
    const held = gate()
    const rig = await start({ effect: () => held.opened })
    const [delivery] = await rig.deliver('a')
    rig.source.stopIntakeFails = new Error('broker gone')
    const ended = rig.running.stop().then(
      () => 'well',
      (error: Error) => error.message,
    )
    await turns()
    expect(rig.source.calls).toEqual(['stopIntake'])
    held.open()
    expect(await ended).toBe('broker gone')
    expect(delivery?.settled).toBe(1)
    expect(rig.running.state).toBe('stopped')
    expect(rig.source.calls).toEqual(['stopIntake', 'close'])
  })

  it('is stopped although the source cannot be closed', async () => {
    const rig = await start()
    rig.source.closeFails = new Error('broker gone')
    await expect(rig.running.stop()).rejects.toThrow('broker gone')
    expect(rig.running.state).toBe('stopped')
  })

  it('takes a deadline without end for what it says', async () => {
    const held = gate()
    const rig = await start({ effect: (work) => Promise.race([held.opened, aborted(work.signal)]) })
    await rig.deliver('a')
    const stopping = rig.running.stop({ deadlineMs: Number.POSITIVE_INFINITY })
    await rig.clock.advance(30_000)
    expect(await hasEnded(stopping)).toBe(false)
    held.open()
    await stopping
  })

  it('drops what is in doubt and waits for quiet', async () => {
    const world = new World()
    const dead = await start({ world, effect: () => new Promise(() => {}) })
    await dead.deliver('a', 'b')
    dead.store.isDown = true
    await dead.clock.advance(200_000)
    const held = gate()
    const rig = await start({ world, effect: () => held.opened })
    await rig.deliver('x')
    await rig.deliver('a', 'b')
    const stopping = rig.running.stop()
    expect(rig.outcomes()).toEqual(['handed-back', 'handed-back'])
    held.open()
    await stopping
    expect(rig.started).toEqual(['x'])
  })
})
