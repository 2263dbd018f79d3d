import { afterEach, describe, expect, it } from '@jest/globals'
import { aborted, endRigs, gate, startRig, STYLES, World } from '../../../kit/rig.ts'
import { turns } from '../../../kit/manual-clock.ts'

afterEach(endRigs)

const LEASES = STYLES.filter(({ strategy }) => strategy === 'lease')

describe.each(LEASES)('a lease ($handler)', (style) => {
  it('is renewed while its handler runs, so that nobody takes over, and no longer [T15]', async () => {
    const world = new World()
    const held = gate()
    const rig = await startRig({ style, world, leaseMs: 3_000, effect: () => held.opened })
    const other = await startRig({ style, world, effect: (work) => work.apply() })
    await rig.deliver('a')
    await other.deliver('a')
    await rig.clock.advance(30_000)
    expect(rig.store.calls('renew').length).toBeGreaterThan(20)
    held.open()
    await rig.clock.advance(2_000)
    expect(rig.outcomes()).toEqual(['handled'])
    expect(other.outcomes()).toEqual(['duplicate'])
    const renewals = rig.store.calls('renew').length
    await rig.clock.advance(30_000)
    expect(rig.store.calls('renew').length).toBe(renewals)
  })

  it('is renewed for all handlers in one call, and not asked for again while that is under way', async () => {
    const [held, slow] = [gate(), gate()]
    const rig = await startRig({ style, leaseMs: 30_000, renewEveryMs: 1_000, effect: () => held.opened })
    await rig.deliver('a', 'b', 'c')
    rig.store.script('renew', slow.opened)
    await rig.clock.advance(10_000)
    expect(rig.store.calls('renew').map(({ keys }) => keys.length)).toEqual([3])
    slow.open()
    await rig.clock.advance(2_000)
    expect(rig.store.calls('renew').length).toBeGreaterThan(1)
    held.open()
  })

  it('is renewed in time even where that is shortly before its end', async () => {
    const held = gate()
    let signal: AbortSignal | undefined
    const rig = await startRig({
      style,
      leaseMs: 10_000,
      renewEveryMs: 8_999,
      effect: (work) => {
        signal = work.signal
        return held.opened
      },
    })
    await rig.deliver('a')
    await rig.clock.advance(50_000)
    expect(signal?.aborted).toBe(false)
    expect(rig.store.calls('renew').length).toBeLessThan(8)
    held.open()
    await rig.clock.advance(0)
    expect(rig.outcomes()).toEqual(['handled'])
  })

  it('that the store calls lost aborts its handler, and the message is claimed again', async () => {
    const world = new World()
    const reasons: unknown[] = []
    const rig = await startRig({
      style,
      world,
      leaseMs: 3_000,
      backoff: { initialMs: 100, maxMs: 100 },
      effect: async (work) => {
        reasons.push(await aborted(work.signal))
        throw new Error('stopped')
      },
    })
    await rig.deliver('a')
    rig.clock.skip(4_000)
    const other = await startRig({ style, world, effect: (work) => work.apply() })
    // The other process is quicker than the keeper, whose timer was late.
    await other.deliver('a')
    await rig.clock.advance(2_000)
    expect(reasons).toMatchObject([{ code: 'LEASE_LOST' }])
    expect(world.effects).toEqual(['a'])
    expect(rig.outcomes()).toEqual(['duplicate'])
  })

  it('that the store calls lost aborts its handler long before its local end', async () => {
    const world = new World()
    const reasons: unknown[] = []
    const rig = await startRig({
      style,
      world,
      renewEveryMs: 1_000,
      effect: async (work) => {
        if (work.attempt > 1) return work.apply()
        reasons.push(await aborted(work.signal))
        throw new Error('stopped')
      },
    })
    await rig.deliver('a')
    const [{ keys, token = '' } = { keys: [] }] = rig.store.calls('claim')
    const [key = ''] = keys
    // The hand of a person: the record is free again.
    const claim = { key, token, digest: '', scope: '', fence: 1, attempt: 1, retentionMs: 1 }
    await world.lease.release([claim], { refund: false, doubt: false })
    await rig.clock.advance(2_000)
    expect(reasons).toMatchObject([{ code: 'LEASE_LOST' }])
    expect(rig.outcomes()).toEqual(['handled'])
  })

  it.each([100, 1_000, 3_000, 30_000])(
    'of %d ms aborts its handler before another process can take it over, with a margin, when the store cannot be reached [T16]',
    async (leaseMs) => {
      const world = new World()
      const { clock } = world
      let [claimedAt, abortedAt] = [0, 0]
      const rig = await startRig({
        style,
        world,
        leaseMs,
        effect: async (work) => {
          await aborted(work.signal)
          abortedAt = clock.monotonic()
          throw new Error('stopped')
        },
      })
      // Not in step with the ticks of the keeper.
      await clock.advance(Math.ceil(leaseMs / 7))
      claimedAt = clock.monotonic()
      await rig.deliver('a')
      rig.store.isDown = true
      await clock.advance(2 * leaseMs)
      const margin = claimedAt + leaseMs - abortedAt
      expect(margin).toBeGreaterThanOrEqual(Math.min(leaseMs / 10, 1_000))
      expect(margin).toBeLessThanOrEqual(Math.min(leaseMs / 10, 1_000) + 1)
    },
  )

  it('is counted from before its claim was sent, also where the answer was slow and others are watched', async () => {
    const answering = gate()
    const ends = new Map<string, number>()
    const rig = await startRig({
      style,
      leaseMs: 10_000,
      renewEveryMs: 8_000,
      effect: async (work) => {
        await aborted(work.signal)
        ends.set(work.id, rig.clock.monotonic())
        throw new Error('stopped')
      },
    })
    rig.store.script('claim', answering.opened)
    await rig.deliver('slow')
    await rig.clock.advance(8_800)
    await rig.deliver('quick')
    rig.store.isDown = true
    answering.open()
    await rig.clock.advance(20_000)
    expect(Object.fromEntries(ends)).toEqual({ slow: 9_000, quick: 17_800 })
  })

  it('that is renewed late is renewed all the same: an answer before the margin counts, one after it aborts nothing twice', async () => {
    const [inTime, tooLate] = [gate(), gate()]
    const ends: number[] = []
    const rig = await startRig({
      style,
      leaseMs: 10_000,
      renewEveryMs: 4_000,
      effect: async (work) => {
        await aborted(work.signal)
        ends.push(rig.clock.monotonic())
        await work.apply()
      },
    })
    rig.store.script('renew', inTime.opened)
    await rig.deliver('a')
    await rig.clock.advance(8_900)
    rig.store.script('renew', tooLate.opened)
    // Sent at 4 s.
    inTime.open()
    await rig.clock.advance(6_500)
    // By the first renewal it ends at 14 s; the second, sent before that, is answered after it.
    expect(ends).toEqual([13_000])
    tooLate.open()
    await rig.clock.advance(30_000)
    expect(rig.outcomes()).toEqual(['handled'])
    expect(ends).toEqual([13_000])
  })

  it('aborts its handler at its local end when renewals are not answered, and the store decides about the mark', async () => {
    const rig = await startRig({
      style,
      leaseMs: 3_000,
      effect: async (work) => {
        await work.apply()
        await aborted(work.signal)
      },
    })
    await rig.deliver('a')
    rig.store.isDown = true
    await rig.clock.advance(2_500)
    expect(rig.now.size).toBe(1)
    await rig.clock.advance(1_000)
    expect(rig.now.size).toBe(0)
    expect(rig.outcomes()).toEqual([])
    rig.store.isDown = false
    await rig.clock.advance(6_000)
    expect(rig.outcomes()).toEqual(['handled'])
    expect(rig.world.effects).toEqual(['a'])
  })

  it('that ran out before its handler could start is given back: no attempt is spent', async () => {
    const attempts: number[] = []
    const rig = await startRig({
      style,
      leaseMs: 3_000,
      maxAttempts: 1,
      effect: (work) => {
        attempts.push(work.attempt)
        return work.apply()
      },
    })
    const answering = gate()
    rig.store.script('claim', answering.opened)
    await rig.deliver('a')
    await rig.clock.advance(4_000)
    answering.open()
    await rig.clock.advance(0)
    expect(rig.store.calls('release').map(({ refund }) => refund)).toEqual([true])
    expect(attempts).toEqual([1])
    expect(rig.outcomes()).toEqual(['handled'])
  })

  it('that is nearly over before its handler could start is given back: what begins has more than the margin left', async () => {
    const left: number[] = []
    const rig = await startRig({
      style,
      leaseMs: 10_000,
      effect: (work) => {
        left.push(10_000 - rig.clock.monotonic())
        return work.apply()
      },
    })
    const answering = gate()
    rig.store.script('claim', answering.opened)
    await rig.deliver('a')
    await rig.clock.advance(9_000)
    answering.open()
    await rig.clock.advance(0)
    expect(rig.store.calls('release').map(({ refund }) => refund)).toEqual([true])
    expect(rig.store.calls('claim').length).toBe(2)
    expect(rig.outcomes()).toEqual(['handled'])
  })

  it('leaves no timer behind when nothing runs', async () => {
    const rig = await startRig({ style, effect: (work) => work.apply() })
    await rig.deliver('a', 'b')
    // The watch for stalls looks once more.
    await rig.clock.advance(15_000)
    await turns()
    expect(rig.clock.pending).toBe(0)
  })
})
