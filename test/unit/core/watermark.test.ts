import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from '@jest/globals'
import * as fc from 'fast-check'
import { Watermark } from '../../../src/core/watermark.ts'

describe('a watermark', () => {
  it('knows nothing before the first position', () => {
    const watermark = new Watermark<bigint>()
    expect(stateOf(watermark)).toEqual({ finishedUpTo: undefined, lowestUnfinished: undefined, open: 0 })
  })

  it('waits for the lowest position, however many above it are finished', () => {
    const watermark = new Watermark<bigint>()
    const [first, second, third] = [watermark.receive(7n), watermark.receive(8n), watermark.receive(9n)]
    expect(watermark.finish(third)).toBe(false)
    expect(watermark.finish(second)).toBe(false)
    expect(stateOf(watermark)).toEqual({ finishedUpTo: undefined, lowestUnfinished: 7n, open: 3 })
    expect(watermark.finish(first)).toBe(true)
    expect(stateOf(watermark)).toEqual({ finishedUpTo: 9n, lowestUnfinished: undefined, open: 0 })
  })

  it('takes a gap for finished: nothing was received there', () => {
    const watermark = new Watermark<number>()
    const tickets = [3, 5, 100].map((position) => watermark.receive(position))
    const moves = tickets.map((ticket) => `${watermark.finish(ticket)} ${watermark.finishedUpTo}`)
    expect(moves).toEqual(['true 3', 'true 5', 'true 100'])
  })

  it('takes a position that is finished twice for finished once', () => {
    const watermark = new Watermark<number>()
    const [first, second] = [watermark.receive(1), watermark.receive(2)]
    expect([watermark.finish(second), watermark.finish(second)]).toEqual([false, false])
    expect([watermark.finish(first), watermark.finish(first), watermark.finish(second)]).toEqual([true, false, false])
    expect(watermark.finishedUpTo).toBe(2)
  })

  it.each([
    [5, 5],
    [5, 4],
  ])('refuses position %d followed by %d, also once all is finished', (first, second) => {
    const watermark = new Watermark<number>()
    const ticket = watermark.receive(first)
    expect(() => watermark.receive(second)).toThrow(TypeError)
    watermark.finish(ticket)
    expect(() => watermark.receive(second)).toThrow(TypeError)
    expect(stateOf(watermark)).toEqual({ finishedUpTo: first, lowestUnfinished: undefined, open: 0 })
  })

  it('remembers the last position through a long run whose front it forgets', () => {
    const watermark = new Watermark<number>()
    const tickets = Array.from({ length: 10_000 }, (_, index) => watermark.receive(index * 3))
    for (const [index, ticket] of tickets.entries()) {
      expect(watermark.finish(ticket)).toBe(true)
      expect(watermark.finishedUpTo).toBe(index * 3)
    }
    expect(() => watermark.receive(9_999 * 3)).toThrow(TypeError)
    expect(watermark.finish(tickets[0] ?? -1)).toBe(false)
    const next = watermark.receive(40_000)
    expect(stateOf(watermark)).toEqual({ finishedUpTo: 29_997, lowestUnfinished: 40_000, open: 1 })
    expect(watermark.finish(next)).toBe(true)
  })

  it('keeps what is open while one slow position holds thousands behind it', () => {
    const watermark = new Watermark<bigint>()
    const early = Array.from({ length: 3_000 }, (_, index) => watermark.receive(BigInt(index)))
    const slow = watermark.receive(3_000n)
    const late = Array.from({ length: 3_000 }, (_, index) => watermark.receive(BigInt(3_001 + index)))
    for (const ticket of [...late, ...early].toReversed()) watermark.finish(ticket)
    expect(stateOf(watermark)).toEqual({ finishedUpTo: 2_999n, lowestUnfinished: 3_000n, open: 3_001 })
    expect(watermark.finish(slow)).toBe(true)
    expect(stateOf(watermark)).toEqual({ finishedUpTo: 6_000n, lowestUnfinished: undefined, open: 0 })
  })

  it('agrees with a list of all positions, whatever the order', () => {
    const step = fc.oneof(fc.integer({ min: -9, max: -1 }), fc.nat())
    const agrees = fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const watermark = new Watermark<number>()
      const model: Received[] = []
      for (const one of steps) {
        const lowest = lowestOf(model)
        const [chosen] = model.slice(one % (model.length + 1))
        if (one < 0) {
          // A gap of that width.
          const position = (model.at(-1)?.position ?? 0) - one
          model.push({ position, ticket: watermark.receive(position), isFinished: false })
        } else if (chosen !== undefined) {
          chosen.isFinished = true
          if (watermark.finish(chosen.ticket) !== lowestOf(model) > lowest) return false
        }
        if (!isDeepStrictEqual(stateOf(watermark), expectedOf(model))) return false
      }
      return true
    })
    expect(fc.check(agrees, { numRuns: 500 }).counterexample).toBeNull()
  })

  it('agrees with that list over thousands that finish a little out of order', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 30 }), { minLength: 3_000, maxLength: 4_000 }), (delays) => {
        const watermark = new Watermark<number>()
        const tickets = delays.map((_, position) => watermark.receive(position))
        const order = delays
          .map((delay, position) => ({ position, at: position + delay }))
          .toSorted((a, b) => a.at - b.at)
        const finished = new Set<number>()
        let lowest = 0
        for (const { position } of order) {
          watermark.finish(tickets[position] ?? -1)
          finished.add(position)
          while (finished.has(lowest)) lowest++
          if (watermark.lowestUnfinished !== (lowest < delays.length ? lowest : undefined))
            throw new Error(`at ${position}`)
        }
        expect(stateOf(watermark)).toEqual({ finishedUpTo: delays.length - 1, lowestUnfinished: undefined, open: 0 })
      }),
      { numRuns: 10 },
    )
  })

  it('refuses a ticket that it never gave out', () => {
    const watermark = new Watermark<number>()
    watermark.receive(7)
    expect(() => watermark.finish(1)).toThrow(TypeError)
    expect(watermark.finishedUpTo).toBeUndefined()
  })
})

function stateOf<P extends number | bigint>({ finishedUpTo, lowestUnfinished, open }: Watermark<P>): object {
  return { finishedUpTo, lowestUnfinished, open }
}

interface Received {
  readonly position: number
  readonly ticket: number
  isFinished: boolean
}

function expectedOf(model: readonly Received[]): object {
  const lowest = lowestOf(model)
  return {
    finishedUpTo: model[lowest - 1]?.position,
    lowestUnfinished: model[lowest]?.position,
    open: model.length - lowest,
  }
}

/** Index of the first that is not finished. */
function lowestOf(model: readonly Received[]): number {
  const index = model.findIndex(({ isFinished }) => !isFinished)
  return index === -1 ? model.length : index
}
