import { afterEach, describe, expect, it } from '@jest/globals'
import { Lanes } from '../../../../src/pipeline/intake/lanes.ts'
import { Task } from '../../../../src/pipeline/task.ts'
import type { Delivery } from '../../../../src/ports/source.ts'
import { ManualClock, turns } from '../../../kit/manual-clock.ts'
import { endRigs, gate, startRig, STYLES, type Rig, type RigOptions } from '../../../kit/rig.ts'

afterEach(endRigs)

describe.each(STYLES)('lanes ($strategy, $handler)', (style) => {
  it('keep the order of each lane, over failures and batches', async () => {
    const failed = new Set<string>()
    const rig = await startRig({
      style,
      batchSize: 3,
      backoff: { initialMs: 100, maxMs: 100 },
      effect: (work) => {
        if (work.id.endsWith('3') && !failed.has(work.id)) {
          failed.add(work.id)
          throw new Error('broken')
        }
        return work.apply()
      },
    })
    const lanes = ['a', 'b', 'c']
    await rig.deliver(...[1, 2, 3, 4, 5, 6, 7].flatMap((n) => lanes.map((lane) => ({ id: `${lane}${n}`, lane }))))
    await rig.clock.advance(5_000)
    for (const lane of lanes) {
      const effects = rig.world.effects.filter((id) => id.startsWith(lane))
      expect(effects).toEqual([1, 2, 3, 4, 5, 6, 7].map((n) => `${lane}${n}`))
    }
    expect(rig.outcomes().length).toBe(21)
  })

  it('pause the source while too much is in flight, and let it go on at half of that [T147]', async () => {
    const held = new Map<string, () => void>()
    const rig = await startRig({
      style,
      concurrency: 4,
      batchSize: 1,
      maxInFlight: 4,
      effect: (work) => {
        const { opened, open } = gate()
        held.set(work.id, open)
        return opened
      },
    })
    await rig.deliver('a', 'b', 'c')
    expect(rig.source.isPaused).toBe(false)
    await rig.deliver('d')
    expect(rig.source.isPaused).toBe(true)
    held.get('a')?.()
    await turns()
    expect(rig.source.isPaused).toBe(true)
    held.get('b')?.()
    await turns()
    expect(rig.source.isPaused).toBe(false)
    expect(rig.source.calls).toEqual(['pause', 'resume'])
    for (const open of held.values()) open()
  })
})

describe.each(STYLES.filter(({ handler }) => handler === 'handle'))('lanes ($strategy)', (style) => {
  it('run beside each other, one message of a lane at a time', async () => {
    const held = gate()
    const rig = await startRig({ style, batchSize: 1, effect: () => held.opened })
    await rig.deliver(
      { id: 'a1', lane: 'a' },
      { id: 'a2', lane: 'a' },
      { id: 'b1', lane: 'b' },
      { id: 'c1', lane: 'c' },
    )
    expect([...rig.now].toSorted()).toEqual(['a1', 'b1', 'c1'])
    held.open()
    await turns()
    expect(rig.outcomes().length).toBe(4)
  })

  it('ask for no order where there is none: each message has a lane of its own', async () => {
    const held = gate()
    const rig = await startRig({ style, batchSize: 1, transactions: 3, concurrency: 3, effect: () => held.opened })
    await rig.deliver('a', 'b', 'c', 'd')
    expect([...rig.now]).toEqual(['a', 'b', 'c'])
    held.open()
    await turns()
    expect(rig.outcomes().length).toBe(4)
  })
})

describe('claims', () => {
  it('take no more than there are free slots, in calls of half the slots at most', async () => {
    const held = gate()
    const rig = await startRig({
      style: { strategy: 'lease', handler: 'handle' },
      concurrency: 5,
      effect: () => held.opened,
    })
    await rig.deliver('a', 'b', 'c', 'd', 'e', 'f', 'g')
    expect(rig.store.calls('claim').map(({ keys }) => keys.length)).toEqual([3, 2])
    held.open()
    await turns()
    expect(rig.store.calls('claim').map(({ keys }) => keys.length)).toEqual([3, 2, 2])
  })

  it('of what ended in one turn are marked in one call', async () => {
    const held = gate()
    const rig = await startRig({ style: { strategy: 'lease', handler: 'handle' }, effect: () => held.opened })
    await rig.deliver('a', 'b', 'c')
    held.open()
    await turns()
    expect(rig.store.calls('mark').map(({ keys }) => keys.length)).toEqual([3])
  })
})

describe('claims of a store that keeps the order of its calls', () => {
  const style = { strategy: 'lease', handler: 'handle' } as const

  /** Two of the given run, and end together. */
  const startTwo = async (settings: Partial<RigOptions>, ...ids: string[]): Promise<{ rig: Rig; end: () => void }> => {
    const held = gate()
    const rig = await startRig({ style, concurrency: 2, effect: () => held.opened, ...settings })
    rig.store.inOrder = true
    await rig.deliver(...ids)
    expect(rig.started).toEqual(['a', 'b'])
    return { rig, end: held.open }
  }

  it('go out right behind the marks that make room for them', async () => {
    const { rig, end } = await startTwo({}, 'a', 'b', 'c', 'd')
    const answer = gate()
    rig.store.script('mark', answer.opened)
    end()
    await turns()
    const calls = rig.store.seen.map(({ call, keys }) => `${call} ${keys.length}`)
    expect(calls.slice(2)).toEqual(['mark 2', 'claim 1', 'claim 1'])
    expect(rig.started).toEqual(['a', 'b'])
    answer.open()
    await turns()
    expect(rig.outcomes().length).toBe(4)
  })

  it('begin no handler before those marks are durable, and take no more room than they make', async () => {
    const { rig, end } = await startTwo({}, 'a', 'b', 'c', 'd', 'e', 'f')
    rig.store.script('mark', 'lose-request')
    end()
    await turns()
    expect(rig.started).toEqual(['a', 'b'])
    // One went out before it was known that the store is down.
    expect(rig.store.calls('claim').flatMap(({ keys }) => keys).length).toBe(3)
    await rig.clock.advance(5_000)
    expect(rig.started).toEqual(['a', 'b', 'c', 'd', 'e', 'f'])
    expect(rig.outcomes().length).toBe(6)
  })

  it('are renewed while those marks are not known', async () => {
    const { rig, end } = await startTwo({ leaseMs: 3_000 }, 'a', 'b', 'c')
    const answer = gate()
    rig.store.script('mark', answer.opened)
    end()
    await rig.clock.advance(10_000)
    expect(rig.started).toEqual(['a', 'b'])
    answer.open()
    await turns()
    expect(rig.started).toEqual(['a', 'b', 'c'])
    expect(rig.store.calls('release')).toEqual([])
    expect(rig.outcomes().length).toBe(3)
  })

  it('are given back where their leases ran out all the same', async () => {
    const { rig, end } = await startTwo({ leaseMs: 3_000 }, 'a', 'b', 'c')
    const answer = gate()
    rig.store.script('mark', answer.opened)
    rig.store.script('renew', ...Array.from({ length: 20 }, () => 'lose-request' as const))
    end()
    await rig.clock.advance(4_000)
    answer.open()
    await rig.clock.advance(5_000)
    expect(rig.started).toEqual(['a', 'b', 'c'])
    expect(rig.store.calls('release').map(({ refund }) => refund)).toEqual([true])
    expect(rig.outcomes().length).toBe(3)
  })
})

const task = (id: string, print: string, lane?: string): Task => {
  const message = {
    system: 'memory',
    destination: 't',
    origin: 't',
    position: id,
    key: null,
    value: null,
    headers: {},
  }
  const delivery: Delivery = { message, lane, standing: () => 'current', settle: () => true }
  return new Task(delivery, id, print)
}

describe('a lane whose head waits for another payload under its ID', () => {
  it('goes on with the next when that head is taken out', () => {
    let wakes = 0
    const lanes = new Lanes(new ManualClock(), () => void wakes++)
    const blocked = task('a', '2', 'k')
    blocked.move('blocked')
    const next = task('b', '1', 'k')
    for (const each of [blocked, next]) lanes.enqueue(each)
    expect([lanes.hasReady, wakes]).toEqual([false, 0])
    expect([...lanes.removeQueued((queued) => queued === blocked)]).toEqual([blocked])
    expect([lanes.hasReady, wakes]).toEqual([true, 1])
    expect(lanes.take(5)).toEqual([next])
  })

  it('gives nothing when what stood before that head is taken out', () => {
    const lanes = new Lanes(new ManualClock(), () => {})
    const first = task('b', '1', 'k')
    const blocked = task('a', '2', 'k')
    blocked.move('blocked')
    for (const each of [first, blocked]) lanes.enqueue(each)
    expect([...lanes.removeQueued((queued) => queued === first)]).toEqual([first])
    expect(lanes.hasReady).toBe(false)
    lanes.unblock(blocked)
    expect(lanes.take(5)).toEqual([blocked])
  })
})
