import { describe, expect, it } from '@jest/globals'
import { Pass } from '../../../adapters/sql/pass.ts'

/** Where the steps of a pass begin, in a table of ten of which each step looks at four. */
function stepsFrom(begin: number): readonly number[] {
  const pass = new Pass(0, begin)
  const steps: number[] = []
  do steps.push(pass.at)
  while (pass.goOn(pass.at + 4 < 10 ? pass.at + 4 : undefined))
  return steps
}

describe('a pass through a table', () => {
  it.each([
    { begin: 0, steps: [0, 4, 8] },
    { begin: 1, steps: [1, 5, 9, 0] },
    { begin: 4, steps: [4, 8, 0] },
    { begin: 9, steps: [9, 0, 4, 8] },
  ])('that begins at $begin looks at all of it, in one step more at most', ({ begin, steps }) => {
    expect(stepsFrom(begin)).toEqual(steps)
  })

  it('through an empty table is one step', () => {
    const pass = new Pass('', '')
    expect(pass.goOn(undefined)).toBe(false)
    expect(pass.isWrapped).toBe(false)
  })
})
