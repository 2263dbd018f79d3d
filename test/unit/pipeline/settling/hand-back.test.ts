import { afterEach, describe, expect, it } from '@jest/globals'
import { turns } from '../../../kit/manual-clock.ts'
import { endRigs, gate, startRig, STYLES, World } from '../../../kit/rig.ts'

/** Also holds each delivery of each test to this: settled, or handed back once, or neither. */
afterEach(endRigs)

describe.each(STYLES)('a delivery that is not handled here ($strategy, $handler)', (style) => {
  it('is handed back at once by a stop when its handler has not begun, and one that runs only when it was given up', async () => {
    const rig = await startRig({
      style,
      batchSize: 1,
      concurrency: 1,
      transactions: 1,
      graceMs: 1_000,
      effect: () => gate().opened,
    })
    const [running, waiting] = await rig.deliver('a', 'b')
    const stopping = rig.running.stop({ deadlineMs: 5_000 })
    const [late] = await rig.deliver('c')
    expect([running?.handBacks, waiting?.handBacks, late?.handBacks]).toEqual([0, 1, 1])
    await rig.clock.advance(5_900)
    expect(running?.handBacks).toBe(0)
    await rig.clock.advance(100)
    await stopping
    expect(running?.handBacks).toBe(1)
    expect(rig.outcomes()).toEqual(['handed-back', 'handed-back', 'handed-back'])
  })

  it('is not handed back when its handler ends within the stop deadline: it is settled', async () => {
    const held = gate()
    const rig = await startRig({ style, effect: () => held.opened })
    const [delivery] = await rig.deliver('a')
    const stopping = rig.running.stop()
    held.open()
    await stopping
    expect([delivery?.settled, delivery?.handBacks]).toEqual([1, 0])
  })

  it('is handed back with all that joined it', async () => {
    const rig = await startRig({ style, graceMs: 1_000, effect: () => gate().opened })
    const [first] = await rig.deliver('a')
    const [joined] = first === undefined ? [] : rig.source.redeliver(first)
    const stopping = rig.running.stop({ deadlineMs: 1_000 })
    await rig.clock.advance(2_000)
    await stopping
    expect([first?.handBacks, joined?.handBacks]).toEqual([1, 1])
  })

  it('is handed back where its claim was not answered before the stop deadline', async () => {
    const rig = await startRig({ style, graceMs: 1_000, effect: (work) => work.apply() })
    rig.store.isDown = true
    const [delivery] = await rig.deliver('a')
    const stopping = rig.running.stop({ deadlineMs: 1_000 })
    await rig.clock.advance(2_000)
    await stopping
    expect(delivery?.handBacks).toBe(1)
  })

  it('is handed back where its failure is to be tried again, and the process stops', async () => {
    const rig = await startRig({
      style,
      backoff: { initialMs: 10_000, maxMs: 10_000 },
      effect: () => Promise.reject(new Error('broken')),
    })
    const [delivery] = await rig.deliver('a')
    expect(delivery?.handBacks).toBe(0)
    await rig.running.stop()
    expect([delivery?.handBacks, rig.outcomes()]).toEqual([1, ['handed-back']])
  })

  it.each([
    ['does not confirm', () => Promise.reject(new Error('not confirmed'))],
    ['never answers', () => gate().opened],
  ])('is handed back by a stop that the dead-letter place does not outlast, which %s', async (_, publish) => {
    const rig = await startRig({
      style,
      graceMs: 1_000,
      maxAttempts: 1,
      effect: () => Promise.reject(new Error('broken')),
    })
    rig.source.deadLetter = publish
    const [failed, unidentified] = await rig.deliver('a', { id: '' })
    const stopping = rig.running.stop({ deadlineMs: 1_000 })
    await rig.clock.advance(2_000)
    await stopping
    expect([failed?.handBacks, unidentified?.handBacks]).toEqual([1, 1])
    expect(rig.outcomes()).toEqual(['handed-back', 'handed-back'])
  })

  it('counts as handed back where nothing can be given back any more', async () => {
    const held = gate()
    const rig = await startRig({ style, effect: () => held.opened })
    await rig.deliver({ id: 'a', lane: 'l' })
    const [lost] = await rig.deliver({ id: 'b', lane: 'l' })
    if (lost === undefined) throw new Error('nothing was delivered')
    rig.source.stand('lost', lost)
    expect([lost.handBacks, rig.outcomes()]).toEqual([1, ['handed-back']])
    held.open()
    await turns()
  })
})

describe('a lease that was lost with its channel', () => {
  it('is not handed back: its delivery is nobody’s, and the broker delivers it again by itself', async () => {
    const world = new World()
    const held = gate()
    const rig = await startRig({ world, effect: () => held.opened })
    const [delivery] = await rig.deliver('a')
    if (delivery === undefined) throw new Error('nothing was delivered')
    rig.store.isDown = true
    rig.clock.skip(40_000)
    const other = await startRig({ world, effect: (work) => work.apply() })
    await other.deliver('a')
    await other.clock.advance(5_000)
    expect(world.effects).toEqual(['a'])
    rig.source.stand('stale', delivery)
    rig.store.isDown = false
    held.open()
    await rig.clock.advance(10_000)
    expect([delivery.handBacks, rig.outcomes()]).toEqual([0, ['lease-lost']])
  })
})
