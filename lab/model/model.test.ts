import { beforeAll, describe, expect, test } from '@jest/globals'
import { CELLS } from '../../model/catalogue.ts'
import { HOLDS, REACHED, violates, type Cell } from '../../model/cell.ts'
import { whatIsWrong } from '../../model/judge.ts'
import { readReport } from '../../model/pan-report.ts'
import { runCell, type CellRun } from '../../model/run-cell.ts'
import { needTools, type Tools } from '../../model/spin.ts'

const SEARCH_MS = 120_000

let tools: Tools
let bent: CellRun
beforeAll(async () => {
  tools = await needTools()
  bent = await runCell(cellNamed('channel-old-tag'), tools)
}, SEARCH_MS)

describe('the models, in their short form', () => {
  const quick = CELLS.filter((cell) => cell.quick)

  test.each(quick.map((cell) => [cell.name, cell] as const))(
    '%s',
    async (_, cell) => {
      expect(whatIsWrong(await runCell(cell, tools))).toBeUndefined()
    },
    SEARCH_MS,
  )

  test('every model is in it', () => {
    expect(new Set(quick.map(({ model }) => model))).toEqual(new Set(CELLS.map(({ model }) => model)))
  })
})

describe('an expectation that is not met fails the run', () => {
  test.each([
    ['holds', HOLDS, 'expected that all laws hold, found A3 violated'],
    ['another law is violated', violates('A9'), 'expected A9 violated, found A3 violated'],
    ['reached', REACHED, 'expected that the state is reached, found A3 violated'],
  ])('a model with a bent rule: %s', (_, expectation, says) => {
    expect(whatIsWrong({ ...bent, cell: { ...bent.cell, expect: expectation } })).toBe(says)
  })

  test(
    'a model whose rules are kept: violated',
    async () => {
      const { cell, ...run } = await runCell(cellNamed('liveness-drained'), tools)
      expect(whatIsWrong({ ...run, cell: { ...cell, expect: violates('L1') } })).toBe(
        'expected L1 violated, found that all laws hold',
      )
    },
    SEARCH_MS,
  )

  test.each(['max search depth too small', 'pan: out of memory', 'Warning: Search not completed'])(
    'a search cut short: %j',
    (said) => {
      const whole = 'State-vector 84 byte, depth reached 99, errors: 0'
      expect(readReport(whole).finding).toEqual({ kind: 'nothing' })
      expect(readReport(`${said}\n${whole}`).finding.kind).toBe('incomplete')
    },
  )

  test('a search without a result', () => {
    expect(readReport('').finding.kind).toBe('incomplete')
  })
})

test('a counterexample lists its steps in the words of the model', () => {
  const { counterexample } = bent
  expect(counterexample?.law).toBe('A3')
  expect(counterexample?.steps).toContain('the channel closes')
  expect(counterexample?.steps.at(-1)).toMatch(/^ack of tag 1/)
})

test('names of cells are unique, so that each can be run alone', () => {
  const names = CELLS.map(({ name }) => name)
  expect(names).toHaveLength(new Set(names).size)
})

function cellNamed(name: string): Cell {
  const cell = CELLS.find((one) => one.name === name)
  if (cell === undefined) throw new TypeError(`no cell ${name}`)
  return cell
}
