import type { Cell } from './cell.ts'
import type { CellRun } from './run-cell.ts'
import { whatIsWrong } from './judge.ts'

/** One line for a cell that has run. */
export function lineOf(run: CellRun): string {
  const { cell, states, seconds } = run
  const wrong = whatIsWrong(run)
  const parts = [
    wrong === undefined ? 'ok  ' : 'FAIL',
    cell.model.padEnd(12),
    cell.name.padEnd(26),
    states.toLocaleString('en').padStart(12),
    `${seconds.toFixed(1)} s`.padStart(8),
    wrong ?? `${expectationOf(cell)}: ${cell.shows}`,
  ]
  return parts.join('  ')
}

export function expectationOf({ expect }: Cell): string {
  switch (expect.kind) {
    case 'holds':
      return 'holds'
    case 'violated':
      return `${expect.law} violated, as it must be`
    case 'reached':
      return 'reached'
  }
}

/** The numbered path to what was found; a long one without its middle. */
export function trailOf({ counterexample }: CellRun): readonly string[] {
  if (counterexample === undefined) return []
  const { law, steps } = counterexample
  const lines = steps.map((step, index) => `${String(index + 1).padStart(8)}. ${step}`)
  return [...lines, `${''.padStart(8)}  ${law === 'REACH' ? 'reached' : `violates ${law}`}`]
}
