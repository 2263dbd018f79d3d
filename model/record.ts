import { recordPart, type ProofTable } from '../lab/proof/part.ts'
import type { CellRun } from './run-cell.ts'
import { expectationOf, trailOf } from './table.ts'

/** Longer ways are in the output of `npm run model -- --trails`. */
const LONGEST_TRAIL = 30

/** Writes what a whole run found, for the page of proofs; only of a run in which all was as expected. */
export function recordRuns(runs: readonly CellRun[], tools: string, seconds: number): void {
  const models = [...new Set(runs.map(({ cell }) => cell.model))]
  const states = runs.reduce((sum, run) => sum + run.states, 0)
  const count = (kind: string): number => runs.filter(({ cell }) => cell.expect.kind === kind).length
  recordPart('model', {
    title: 'Models',
    command: 'npm run model',
    summary:
      `${runs.length} cells of ${models.length} models, every interleaving of each searched, ${states.toLocaleString('en')} states: ` +
      `${count('holds')} hold, ${count('violated')} with a bent rule or a known limit are violated by the law that was expected, ` +
      `${count('reached')} states that must be reachable are reached.`,
    versions: Object.fromEntries(tools.split('; ').map((tool) => [tool.split(' ')[0] ?? tool, tool])),
    seconds: Math.round(seconds),
    tables: models.flatMap((model) => tablesOf(model, runs)),
    limits: [
      'A model is not the code: that they agree is by reading, and by the simulator and the contract suites.',
      'Bounded: two or three workers, one to four messages, few crashes, lease ends and rebalances.',
      'Not modelled: reconcile, refused publish confirms, results kept with marks, retention by time, poison among neighbours.',
    ],
  })
}

function tablesOf(model: string, runs: readonly CellRun[]): readonly ProofTable[] {
  const ofModel = runs.filter(({ cell }) => cell.model === model)
  const rows = ofModel.map((run) => [
    run.cell.name,
    run.cell.shows,
    expectationOf(run.cell),
    run.states,
    run.seconds.toFixed(1),
  ])
  const violated = ofModel.filter(({ cell }) => cell.expect.kind === 'violated')
  const trails = violated.map((run) => {
    const trail = trailOf(run).map((line) => line.trim())
    const isLong = trail.length > LONGEST_TRAIL
    return [run.cell.name, isLong ? `${trail.length} steps` : trail.join('; ')]
  })
  return [
    { title: model, columns: ['cell', 'shows', 'result', 'states', 'seconds'], rows },
    ...(trails.length === 0 ? [] : [{ title: `${model}, how it breaks`, columns: ['cell', 'steps'], rows: trails }]),
  ]
}
