import { describe, expect, it } from '@jest/globals'
import * as fc from 'fast-check'
import { AckWindow } from '../../../adapters/amqplib/settling/ack-window.ts'

/** A window that has received the tags 1 to `count`. */
function received(
  count: number,
  relieveAbove = 100,
): { readonly window: AckWindow; readonly finish: (...tags: number[]) => void } {
  const window = new AckWindow(relieveAbove)
  const tickets = Array.from({ length: count }, (_, index) => window.receive(index + 1))
  return { window, finish: (...tags) => tags.forEach((tag) => window.finish(tag, tickets[tag - 1] ?? -1)) }
}

describe('AckWindow', () => {
  it('acks a finished run with one frame', () => {
    const { window, finish } = received(4)
    finish(1, 2, 3)
    expect(window.takeFrames()).toEqual([{ tag: 3, multiple: true, settles: 3 }])
    expect(window.takeFrames()).toEqual([])
  })

  it('sends nothing above an unfinished delivery', () => {
    const { window, finish } = received(4)
    finish(2, 4)
    expect(window.takeFrames()).toEqual([])
    finish(1)
    expect(window.takeFrames()).toEqual([{ tag: 2, multiple: true, settles: 2 }])
  })

  it('runs over a tag that was settled by its own frame', () => {
    const { window, finish } = received(4)
    finish(1, 2, 4)
    window.settledAlone(3, 2)
    expect(window.takeFrames()).toEqual([{ tag: 4, multiple: true, settles: 3 }])
  })

  it('acks up to the highest tag that no own frame has settled', () => {
    const { window, finish } = received(4)
    finish(1, 2)
    window.settledAlone(3, 2)
    window.settledAlone(4, 3)
    expect(window.takeFrames()).toEqual([{ tag: 2, multiple: true, settles: 2 }])
  })

  it('sends no frame for a run that own frames have settled', () => {
    const { window } = received(2)
    window.settledAlone(1, 0)
    window.settledAlone(2, 1)
    expect(window.takeFrames()).toEqual([])
  })

  it('relieves a window that starves behind a straggler, and then acks the straggler alone', () => {
    const { window, finish } = received(5, 2)
    finish(2, 3)
    expect(window.takeFrames()).toEqual([])
    finish(4)
    expect(window.takeFrames()).toEqual([2, 3, 4].map((tag) => ({ tag, multiple: false, settles: 1 })))
    finish(1)
    expect(window.takeFrames()).toEqual([{ tag: 1, multiple: true, settles: 1 }])
    finish(5)
    expect(window.takeFrames()).toEqual([{ tag: 5, multiple: true, settles: 1 }])
  })

  it('takes everything that is finished at the end', () => {
    const { window, finish } = received(5)
    finish(1, 3, 5)
    expect(window.takeFrames(true)).toEqual([
      { tag: 1, multiple: true, settles: 1 },
      { tag: 3, multiple: false, settles: 1 },
      { tag: 5, multiple: false, settles: 1 },
    ])
  })

  it('never acks what is unfinished, nor a tag twice, and leaves nothing behind', () => {
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.constant({ do: 'receive' as const, pick: 0 }) },
      { weight: 4, arbitrary: fc.record({ do: fc.constant('finish' as const), pick: fc.nat() }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('reject' as const), pick: fc.nat() }) },
      { weight: 2, arbitrary: fc.constant({ do: 'flush' as const, pick: 0 }) },
    )
    const relief = fc.integer({ min: 0, max: 5 })
    const check = fc.property(fc.array(step, { maxLength: 120 }), relief, (steps, relieveAbove) => {
      const window = new AckWindow(relieveAbove)
      const broker = new Set<number>()
      const refused: (string | undefined)[] = []
      const open = new Map<number, number>()
      let tag = 0
      const send = (everything: boolean): void => {
        for (const frame of window.takeFrames(everything)) {
          refused.push(window.tell(frame))
          expect(broker).toContain(frame.tag) // Else 406.
          const acked = [...broker].filter((one) => one === frame.tag || (frame.multiple && one < frame.tag))
          expect(acked.filter((one) => open.has(one))).toEqual([])
          expect(acked).toHaveLength(frame.settles)
          for (const one of acked) broker.delete(one)
        }
        const finished = [...broker].filter((one) => !open.has(one))
        const lowest = Math.min(...open.keys())
        expect(finished.every((one) => one > lowest)).toBe(true)
        expect(finished.length).toBeLessThanOrEqual(everything ? 0 : relieveAbove)
      }
      for (const { do: what, pick } of steps) {
        const [chosen, ticket] = [...open][pick % Math.max(open.size, 1)] ?? [0, 0]
        if (what === 'receive') {
          broker.add(++tag)
          open.set(tag, window.receive(tag))
        } else if (what === 'flush') {
          send(false)
        } else if (open.delete(chosen)) {
          if (what === 'finish') window.finish(chosen, ticket)
          if (what === 'reject') {
            window.settledAlone(chosen, ticket)
            refused.push(window.tell({ tag: chosen, multiple: false, settles: 1 }))
          }
          if (what === 'reject') broker.delete(chosen)
        }
      }
      send(true)
      expect([...broker]).toEqual([...open.keys()])
      expect(refused.filter((why) => why !== undefined)).toEqual([])
    })
    fc.assert(check, { numRuns: 500 })
  })
})
