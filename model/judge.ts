import type { CellRun } from './run-cell.ts'

/** Why a run is not what its cell expects; `undefined` if it is. A law broken in place of another is not. */
export function whatIsWrong({ cell: { expect }, finding, counterexample }: CellRun): string | undefined {
  if (finding.kind === 'incomplete') return `not searched to its end: ${finding.why}`
  const broken = finding.kind === 'nothing' ? undefined : (counterexample?.law ?? finding.text)
  const expected = expect.kind === 'holds' ? undefined : expect.kind === 'reached' ? 'REACH' : expect.law
  if (broken === expected) return undefined
  return `expected ${told(expected)}, found ${told(broken)}`
}

function told(law: string | undefined): string {
  return law === undefined ? 'that all laws hold' : law === 'REACH' ? 'that the state is reached' : `${law} violated`
}
