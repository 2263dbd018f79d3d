import { afterEach, describe, expect, it } from '@jest/globals'
import { turns } from '../../kit/manual-clock.ts'
import { endRigs, gate, startRig, STYLES } from '../../kit/rig.ts'

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

describe.each(STYLES)('a stop with a deadline ($strategy, $handler)', (style) => {
  it('ends within deadline and grace although a handler ignores its signal, and the late mark is still tried', async () => {
    const stuck = gate()
    const rig = await startRig({
      ...BRIEF,
      style,
      effect: async (work) => {
        await work.apply()
        await stuck.opened
      },
    })
    const [delivery] = await rig.deliver('a')
    const stopping = rig.running.stop({ deadlineMs: 5_000 })
    await rig.clock.advance(6_000)
    expect(await hasEnded(stopping)).toBe(true)
    expect(rig.running.state).toBe('stopped')
    expect(rig.outcomes()).toEqual(['handed-back'])
    expect(rig.running.health().checks['handlers']).toBe('1 stuck')
    expect(rig.clock.pending).toBe(0)
    const renewals = rig.store.calls('renew').length
    await rig.clock.advance(30_000)
    expect(rig.store.calls('renew').length).toBe(renewals)
    stuck.open()
    await turns()
    // An inbox has rolled back by then, so that its connection is free; a lease is nobody's until it runs out.
    expect(rig.journal).toEqual(style.strategy === 'lease' ? ['mark marked'] : [])
    expect(rig.inbox.openTransactions).toBe(0)
    expect(delivery?.settled).toBe(0)
  })

  it('ends within deadline and grace although the store is down', async () => {
    const held = gate()
    const rig = await startRig({ ...BRIEF, style, effect: () => held.opened })
    await rig.deliver('a')
    rig.store.isDown = true
    held.open()
    await rig.deliver('b')
    const stopping = rig.running.stop({ deadlineMs: 5_000 })
    await rig.clock.advance(6_000)
    expect(await hasEnded(stopping)).toBe(true)
    expect(rig.outcomes()).toEqual(['handed-back', 'handed-back'])
    expect(rig.clock.pending).toBe(0)
    expect(rig.source.calls).toEqual(['pause', 'stopIntake', 'close'])
  })

  it('ends within deadline and grace although the dead-letter place is', async () => {
    const rig = await startRig({ ...BRIEF, style, effect: (work) => work.apply() })
    rig.source.publishFailures = 1_000
    await rig.deliver({ id: '' })
    const stopping = rig.running.stop({ deadlineMs: 5_000 })
    await rig.clock.advance(6_000)
    expect(await hasEnded(stopping)).toBe(true)
    expect(rig.outcomes()).toEqual(['handed-back'])
    expect(rig.clock.pending).toBe(0)
  })
})

describe('a stop from ten places at once', () => {
  it.each(STYLES)('ends each of fifty consumers once ($strategy, $handler)', async (style) => {
    for (let round = 0; round < 50; round++) {
      const rig = await startRig({ style, effect: (work) => work.apply() })
      rig.source.deliver({ id: 'a' }, { id: 'b' })
      await turns(round % 6)
      await Promise.all(Array.from({ length: 10 }, (_, index) => rig.running.stop({ deadlineMs: index + 1 })))
      expect(rig.source.calls).toEqual(['stopIntake', 'close'])
      expect(rig.outcomes().length).toBe(2)
      const settled = rig.source.deliveries.filter((delivery) => delivery.settled > 0).length
      expect(settled).toBe(rig.outcomes().filter((outcome) => outcome === 'handled').length)
    }
  })
})
