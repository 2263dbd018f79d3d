import { describe, expect, it } from '@jest/globals'
import { Pass } from '../../../adapters/sql/pass.ts'

/** Where the steps of a pass begin, in a table of ten of which each step looks at four. */
function stepsFrom(begin: number): readonly number[] {
  const steps: number[] = []
  let pass: Pass<number> | undefined = new Pass(0, begin)
  while (pass !== undefined) {
    steps.push(pass.at)
    pass = pass.after(pass.at + 4 < 10 ? pass.at + 4 : undefined)
  }
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
    expect(new Pass('', '').after(undefined)).toBeUndefined()
  })

  it('is not ended by a step that began where another one did', () => {
    const pass = new Pass<number>(0, 6)
    expect(pass.after(undefined)).toMatchObject({ at: 0, isWrapped: true })
    expect(pass.after(undefined)).toMatchObject({ at: 0, isWrapped: true })
    expect(pass.after(8)).toMatchObject({ at: 8, isWrapped: false })
  })
})
