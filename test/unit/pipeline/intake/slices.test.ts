import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, describe, expect, it } from '@jest/globals'
import { messageId } from '../../../../src/identity/message-id.ts'
import type { IncomingMessage } from '../../../../src/identity/message-id.ts'
import { ManualClock, turns } from '../../../kit/manual-clock.ts'
import { endRigs, gate, startRig, World, type Rig, type RigOptions } from '../../../kit/rig.ts'
import { Slices } from '../../../../src/pipeline/intake/slices.ts'

afterEach(endRigs)

/** How long it takes to identify a message or to hand it back, and how many of them fit into the 5 ms of a turn. */
const EACH_MS = 0.1
const MOST_IN_A_TURN = 5 / EACH_MS + 1

const sent = (count: number, name = 'm'): { id: string; lane: string }[] =>
  Array.from({ length: count }, (_, index) => ({ id: `${name}${index}`, lane: `${name}${index % 10}` }))

interface Watched {
  readonly rig: Rig
  /** Messages that an ID was asked of. */
  readonly identified: () => number
}

/** Counts how many messages were looked at. */
async function start(options: Omit<RigOptions, 'id' | 'world'>, eachMs: number = EACH_MS): Promise<Watched> {
  let asked = 0
  const id = messageId.header('id')
  const world = new World()
  const rig = await startRig({
    ...options,
    world,
    id: (message: IncomingMessage<unknown>) => {
      asked++
      world.clock.skip(eachMs)
      return id(message)
    },
    observe: (event) => {
      if (event.type === 'delivery' && event.outcome === 'handed-back') world.clock.skip(eachMs)
    },
  })
  return { rig, identified: () => asked }
}

/** How often it grew in a turn of the event loop, until it has grown by `total`. */
async function growths(count: () => number, total: number): Promise<number[]> {
  const found = [count()]
  for (let sum = found[0] ?? 0; sum < total;) {
    await nextTurn()
    found.push(count() - sum)
    sum = count()
  }
  return found
}

describe('a turn of the event loop', () => {
  it('identifies messages for 5 ms, however many are delivered at once', async () => {
    const held = gate()
    const { rig, identified } = await start({ maxInFlight: 5_000, effect: () => held.opened })
    rig.source.deliver(...sent(2_000))
    expect(rig.source.isTurnOver).toBe(true)
    expect(Math.max(...(await growths(identified, 2_000)))).toBeLessThanOrEqual(MOST_IN_A_TURN)
    expect(rig.source.isTurnOver).toBe(false)
    held.open()
  })

  it('identifies all messages that are quick, and claims as many of them together as may run', async () => {
    const { rig, identified } = await start({ maxInFlight: 5_000, concurrency: 1_000, effect: () => {} }, 0)
    rig.source.deliver(...sent(2_000).map(({ id }) => ({ id, lane: id })))
    expect(identified()).toBe(2_000)
    await growths(() => rig.outcomes().length, 2_000)
    const claims = rig.events.flatMap((event) => (event.type === 'claims' ? [event.count] : []))
    expect(claims).toEqual([500, 500, 500, 500])
  })

  it('hands messages back for 5 ms when a rebalance takes thousands', async () => {
    const held = gate()
    const { rig, identified } = await start({ maxInFlight: 5_000, effect: () => held.opened })
    const deliveries = rig.source.deliver(...sent(2_000))
    await growths(identified, 2_000)
    rig.source.stand('lost', ...deliveries)
    const running = rig.started.length
    expect(Math.max(...(await growths(() => rig.outcomes().length, 2_000 - running)))).toBeLessThanOrEqual(
      MOST_IN_A_TURN,
    )
    held.open()
  })

  it('looks at no more than a few lanes of thousands when a rebalance takes all of them', async () => {
    const held = gate()
    const { rig, identified } = await start({ maxInFlight: 5_000, effect: () => held.opened })
    const deliveries = rig.source.deliver(...sent(2_000).map(({ id }) => ({ id, lane: id })))
    await growths(identified, 2_000)
    let asked = 0
    for (const delivery of deliveries) {
      delivery.standing = () => {
        asked++
        return 'lost'
      }
    }
    rig.source.stand('lost')
    expect(asked).toBeLessThan(1_000)
    const running = rig.started.length
    await growths(() => rig.outcomes().length, 2_000 - running)
    held.open()
  })

  it('hands messages back for 5 ms when a stop meets thousands', async () => {
    const held = gate()
    const { rig, identified } = await start({ maxInFlight: 5_000, effect: () => held.opened })
    rig.source.deliver(...sent(2_000))
    await nextTurn()
    const stopping = rig.running.stop()
    const running = rig.started.length
    expect(Math.max(...(await growths(() => rig.outcomes().length, 2_000 - running)))).toBeLessThanOrEqual(
      MOST_IN_A_TURN,
    )
    // What the stop found unidentified was left so.
    expect(identified()).toBeLessThan(1_000)
    held.open()
    await stopping
  })
})

describe('maxInFlight', () => {
  it('bounds what is identified, though a source delivers more at once', async () => {
    const held = gate()
    const { rig, identified } = await start({ concurrency: 10, maxInFlight: 100, effect: () => held.opened })
    rig.source.deliver(...sent(1_000))
    for (let turn = 0; turn < 20; turn++) await nextTurn()
    expect(identified()).toBe(100)
    expect(rig.source.isPaused).toBe(true)
    held.open()
    while (rig.outcomes().length < 1_000) {
      expect(identified() - rig.outcomes().length).toBeLessThanOrEqual(100)
      await nextTurn()
    }
    expect(new Set(rig.outcomes())).toEqual(new Set(['handled']))
  })
})

describe('copies that come while messages are handed back', () => {
  it('wait until that is over: none joins what is on its way out, and every lane keeps its order', async () => {
    const held = gate()
    const order: string[] = []
    const { rig } = await start({
      concurrency: 1,
      maxInFlight: 5_000,
      effect: async ({ id }) => {
        if (id === 'first') await held.opened
        order.push(id)
      },
    })
    await rig.deliver('first')
    const deliveries = await rig.deliver(...sent(1_000))
    rig.source.stand('stale', ...deliveries)
    rig.source.redeliver(...deliveries)
    held.open()
    while (order.length < 1_001) await nextTurn()
    expect(rig.outcomes().filter((outcome) => outcome === 'joined')).toEqual([])
    for (let lane = 0; lane < 10; lane++) {
      const numbers = order.slice(1).map((id) => Number(id.slice(1)))
      const ofLane = numbers.filter((number) => number % 10 === lane)
      expect(ofLane).toEqual(ofLane.toSorted((a, b) => a - b))
    }
  })
})

describe('slices', () => {
  it('end when their steps have taken 5 ms together, in one call or in many', async () => {
    const clock = new ManualClock()
    let left = 100
    const slices: Slices = new Slices(clock, () => {
      if (left === 0) return false
      left--
      clock.skip(2)
      return true
    })
    slices.run()
    expect(left).toBe(97)
    slices.run()
    expect(left).toBe(97)
    await nextTurn()
    expect(left).toBe(94)
    await turns(40)
    expect(left).toBe(0)
  })
})
