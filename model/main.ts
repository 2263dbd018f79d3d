// npm run model -- [--only NAME]... [--quick] [--trails] [--record]
//
// Searches every cell of the models, two at once. Ends with 0 if each found what it must find, with 1 if one did not, with 2 for a
// wrong command.

import { parseArgs } from 'node:util'
import { CELLS } from './catalogue.ts'
import type { Cell } from './cell.ts'
import { whatIsWrong } from './judge.ts'
import { recordRuns } from './record.ts'
import { runCell, type CellRun } from './run-cell.ts'
import { needTools } from './spin.ts'
import { lineOf, trailOf } from './table.ts'

const USAGE = `usage: npm run model -- [options]
  --only NAME  a model, or a cell (may be repeated)
  --quick      the short form, below half a minute
  --trails     with the shortest way to each violation, as the processes of the model tell it
  --record     writes docs/proof/model.json, of whole models`

const AT_ONCE = 2

async function main(args: readonly string[]): Promise<number> {
  const asked = wishes(args)
  if (asked === undefined) return 2
  const { cells, trails, record } = asked
  const startedAt = performance.now()
  const tools = await needTools()
  console.log(`${tools.versions}; ${cells.length} cells`)
  const waiting = [...cells]
  const runs: CellRun[] = []
  const searchNext = async (): Promise<void> => {
    for (let cell = waiting.shift(); cell !== undefined; cell = waiting.shift()) {
      const run = await runCell(cell, tools)
      runs.push(run)
      console.log(lineOf(run))
      if (trails || (whatIsWrong(run) !== undefined && run.counterexample !== undefined)) {
        for (const line of trailOf(run)) console.log(line)
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, searchNext))
  const wrong = runs.filter((run) => whatIsWrong(run) !== undefined)
  const states = runs.reduce((sum, run) => sum + run.states, 0)
  console.log(`${runs.length} cells, ${states.toLocaleString('en')} states, ${wrong.length} not as expected`)
  if (record && wrong.length === 0) recordRuns(inOrder(runs), tools.versions, (performance.now() - startedAt) / 1000)
  return wrong.length === 0 ? 0 : 1
}

/** As in the catalogue: two at once end in any order. */
function inOrder(runs: readonly CellRun[]): readonly CellRun[] {
  return runs.toSorted((a, b) => CELLS.indexOf(a.cell) - CELLS.indexOf(b.cell))
}

function wishes(
  args: readonly string[],
): { readonly cells: readonly Cell[]; readonly trails: boolean; readonly record: boolean } | undefined {
  const options = {
    only: { type: 'string', multiple: true },
    quick: { type: 'boolean', default: false },
    trails: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
  } as const
  try {
    const { only = [], quick, trails, record } = parseArgs({ args: [...args], options }).values
    const unknown = only.filter((name) => !CELLS.some((cell) => isNamed(cell, name)))
    if (unknown.length > 0) throw new TypeError(`no model and no cell is named ${unknown.join(', ')}`)
    const cellsOnly = only.filter((name) => !CELLS.some(({ model }) => model === name))
    if (record && (quick || cellsOnly.length > 0)) throw new TypeError('only whole models are recorded')
    const cells = CELLS.filter((cell) => only.length === 0 || only.some((name) => isNamed(cell, name)))
    return { cells: quick ? cells.filter((cell) => cell.quick) : cells, trails, record }
  } catch (error) {
    console.error(`${(error as Error).message}\n${USAGE}`)
    return undefined
  }
}

function isNamed({ name, model }: Cell, wanted: string): boolean {
  return name === wanted || model === wanted
}

main(process.argv.slice(2)).then(
  (code) => (process.exitCode = code),
  (error: unknown) => {
    console.error((error as Error).message)
    process.exitCode = 1
  },
)
