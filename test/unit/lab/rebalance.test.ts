import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { costOf, medianOf, type Run } from '../../../lab/rebalance/figures.ts'
import { PAGE, withTable } from '../../../lab/rebalance/page.ts'
import { CONTENDERS } from '../../../lab/rebalance/plan.ts'
import { readRecorded } from '../../../lab/rebalance/recorded.ts'

/** Tables as they are before the formatter aligns them. */
const unaligned = (text: string): string => text.replaceAll(/ +/g, ' ').replaceAll(/-{3,}/g, '---')

it('the table of rebalances is written from what was recorded', () => {
  const page = readFileSync(PAGE, 'utf8')
  expect(unaligned(page)).toBe(unaligned(withTable(page, readRecorded())))
})

it('the figures of rebalances are those of one run with each client in turn', () => {
  const { rounds } = readRecorded()
  expect(Object.keys(rounds)).toEqual([...CONTENDERS])
  const counts = CONTENDERS.map((contender) => rounds[contender].length)
  expect(Math.min(...counts)).toBeGreaterThanOrEqual(5)
  expect(new Set(counts).size).toBe(1)
})

const run = (partition: number, at: number, process: string, id = `${partition}@${at}`): Run => ({
  id,
  partition,
  process,
  at,
})

describe('the cost of a change in a group', () => {
  const window = { from: 100, to: 200 }

  it('is the longest pause of a partition that stays, and of one that moves, up to the end of the window', () => {
    const runs = [run(0, 90, 'a'), run(1, 95, 'a'), run(0, 110, 'a'), run(1, 180, 'b'), run(0, 150, 'a')]
    const cost = costOf(
      runs.toSorted((a, b) => a.at - b.at),
      [],
      window,
    )
    expect(cost).toEqual({ moved: 1, stayedMs: 50, movedMs: 80, redelivered: 0, handledAgain: 0 })
  })

  it('counts what was delivered again in the window, and of that what was handled again', () => {
    const runs = [run(0, 90, 'a', 'x'), run(0, 95, 'a', 'y'), run(0, 120, 'a', 'x'), run(0, 130, 'a', 'z')]
    expect(costOf(runs, [99, 100, 150, 200], window)).toMatchObject({ redelivered: 3, handledAgain: 1 })
  })

  it('is not told of a partition that was handled on one side only', () => {
    expect(() => costOf([run(0, 90, 'a')], [], window)).toThrow('one side only')
  })
})

it('the median of an even count is that between the middle two', () => {
  expect([medianOf([]), medianOf([3]), medianOf([9, 1, 4]), medianOf([1, 9, 3, 5])]).toEqual([undefined, 3, 4, 4])
})
