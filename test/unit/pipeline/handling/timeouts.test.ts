import { afterEach, describe, expect, it } from '@jest/globals'
import { NoEffectError } from '../../../../src/foundation/errors.ts'
import { aborted, endRigs, gate, startRig, STYLES, type Work } from '../../../kit/rig.ts'

afterEach(endRigs)

const TIMES = { handlerTimeoutMs: 10_000, graceMs: 1_000, backoff: { initialMs: 100, maxMs: 100 } }
const LEASES = STYLES.filter(({ strategy }) => strategy === 'lease')

describe.each(STYLES)('a handler past its timeout ($strategy, $handler)', (style) => {
  it('is aborted with the reason, and what it then throws is tried again', async () => {
    const reasons: unknown[] = []
    const rig = await startRig({
      ...TIMES,
      style,
      effect: async (work) => {
        if (work.attempt > 1) return work.apply()
        reasons.push(await aborted(work.signal))
        throw new Error('gave up')
      },
    })
    await rig.deliver('a')
    await rig.clock.advance(9_000)
    expect(reasons).toEqual([])
    await rig.clock.advance(2_000)
    expect(reasons).toMatchObject([{ code: 'HANDLER_TIMEOUT' }])
    expect(rig.world.effects).toEqual(['a'])
    expect(rig.outcomes()).toEqual(['handled'])
    expect(rig.count('in-doubt')).toBe(style.strategy === 'lease' ? 2 : 0)
  })

  it('still marks when it ends well within the grace', async () => {
    const rig = await startRig({
      ...TIMES,
      style,
      effect: async (work) => {
        await work.apply()
        await aborted(work.signal)
      },
    })
    await rig.deliver('a')
    await rig.clock.advance(11_000)
    expect(rig.world.effects).toEqual(['a'])
    expect(rig.outcomes()).toEqual(['handled'])
    expect(rig.started).toEqual(['a'])
  })

  it('counts as a plain failure when it says that nothing happened', async () => {
    const rig = await startRig({
      ...TIMES,
      style,
      maxAttempts: 1,
      effect: async (work) => {
        await aborted(work.signal)
        throw new NoEffectError('had not begun')
      },
    })
    await rig.deliver('a')
    await rig.clock.advance(11_000)
    expect(rig.journal).toEqual(['record given-up', 'dead letter attempts-spent', 'settle'])
    expect(rig.count('in-doubt')).toBe(0)
  })

  it('that ignores its signal counts as stuck: health is not live, and the others go on', async () => {
    const stuck = gate()
    const rig = await startRig({
      ...TIMES,
      style,
      effect: (work) => (work.id === 'stuck' ? stuck.opened : work.apply()),
    })
    await rig.deliver({ id: 'stuck', lane: 'l' })
    await rig.deliver({ id: 'behind', lane: 'l' }, 'b')
    expect(rig.world.effects).toEqual(['b'])
    expect(rig.running.health().live).toBe(true)
    await rig.clock.advance(11_500)
    expect(rig.running.health()).toMatchObject({ live: false, checks: { handlers: '1 stuck' } })
    expect(rig.count('stuck')).toBe(1)
    await rig.deliver('c')
    expect(rig.world.effects).toEqual(['b', 'c'])
    stuck.open()
    await rig.clock.advance(0)
    expect(rig.running.health().live).toBe(true)
  })
})

describe.each(LEASES)('a handler that ignores its signal ($strategy, $handler)', (style) => {
  it('is renewed until it counts as stuck, and its message is run again when its lease has run out', async () => {
    const rig = await startRig({
      ...TIMES,
      style,
      leaseMs: 3_000,
      effect: (work) => (work.attempt === 1 ? new Promise(() => {}) : work.apply()),
    })
    await rig.deliver('a')
    await rig.clock.advance(11_500)
    const renewals = rig.store.calls('renew').length
    expect(renewals).toBeGreaterThan(8)
    expect(rig.started).toEqual(['a'])
    await rig.clock.advance(5_000)
    expect(rig.store.calls('renew').length).toBe(renewals)
    expect(rig.started).toEqual(['a', 'a'])
    expect(rig.outcomes()).toEqual(['handled'])
  })

  it('that ends after all still marks, and the rerun finds it done', async () => {
    const stuck = gate()
    const rig = await startRig({ ...TIMES, style, effect: ignoresSignalOnce(stuck.opened) })
    await rig.deliver('a')
    await rig.clock.advance(12_000)
    stuck.open()
    await rig.clock.advance(60_000)
    expect(rig.started).toEqual(['a'])
    expect(rig.journal).toEqual(['mark marked', 'settle'])
    expect(rig.outcomes()).toEqual(['duplicate'])
  })

  it('is parked under park, and its late mark is written over that [T50]', async () => {
    const stuck = gate()
    const rig = await startRig({ ...TIMES, style, onInDoubt: 'park', effect: ignoresSignalOnce(stuck.opened) })
    await rig.deliver('a')
    await rig.clock.advance(12_000)
    expect(rig.journal).toEqual(['record parked', 'dead letter in-doubt', 'settle'])
    stuck.open()
    await rig.clock.advance(0)
    expect(rig.journal.at(-1)).toBe('mark marked-late')
    expect(rig.events.at(-1)).toMatchObject({ type: 'marks', late: 1 })
    await rig.deliver('a')
    expect(rig.outcomes()).toEqual(['parked', 'duplicate'])
  })

  it('is told nothing by the time limit once it has ended and waits for its mark', async () => {
    let signal: AbortSignal | undefined
    const rig = await startRig({
      ...TIMES,
      style,
      leaseMs: 3_000,
      effect: async (work) => {
        signal = work.signal
        await work.apply()
      },
    })
    rig.store.onCall = ({ call }) => {
      if (call === 'mark') rig.store.isDown = true
    }
    await rig.deliver('a')
    await rig.clock.advance(30_000)
    expect(signal?.aborted).toBe(false)
    rig.store.onCall = undefined
    rig.store.isDown = false
    await rig.clock.advance(10_000)
    expect(rig.outcomes()).toEqual(['handled'])
  })
})

function ignoresSignalOnce(opened: Promise<void>): (work: Work) => Promise<void> {
  return (work) => (work.attempt === 1 ? opened : Promise.resolve())
}
