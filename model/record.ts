import { recordedParts, recordPart, type ProofTable } from '../lab/proof/part.ts'
import { CELLS } from './catalogue.ts'
import type { CellRun } from './run-cell.ts'
import { expectationOf, trailOf } from './table.ts'

/** Longer ways are in the output of `npm run model -- --trails`. */
const LONGEST_TRAIL = 30

/** As a title of its table. */
const BREAKS = ', how it breaks'

/**
 * Writes what a run of whole models found, for the page of proofs; only of a run in which all was as expected. Of other
 * models the last record stays: a search finds the same again as long as its model is the same.
 */
export function recordRuns(runs: readonly CellRun[], tools: string, seconds: number): void {
  const searched = new Set(runs.map(({ cell }) => cell.model))
  const models = [...new Set(CELLS.map(({ model }) => model))]
  const before = recordedParts().get('model')
  const kept = (before?.tables ?? []).filter(({ title }) => !searched.has(title.replace(BREAKS, '')))
  const tables = models.flatMap((model) =>
    searched.has(model) ? tablesOf(model, runs) : kept.filter(({ title }) => title.replace(BREAKS, '') === model),
  )
  const cells = tables.filter(({ title }) => !title.endsWith(BREAKS)).flatMap(({ rows }) => rows)
  const missing = CELLS.filter(({ name }) => !cells.some(([recorded]) => recorded === name))
  if (missing.length > 0 || cells.length !== CELLS.length) {
    const names = missing.map(({ model }) => model).join(', ')
    throw new Error(`expected a record of ${CELLS.length} cells, got ${cells.length}: run ${names} too, or all`)
  }
  const states = cells.reduce((sum, [, , , found]) => sum + Number(found), 0)
  const spent = searched.size === models.length ? 0 : (before?.seconds ?? 0)
  recordPart('model', {
    title: 'Models',
    command: 'npm run model',
    summary:
      `${cells.length} cells of ${models.length} models, every interleaving of each searched, ${states.toLocaleString('en')} states: ` +
      `${count('holds')} hold, ${count('violated')} with a bent rule or a known limit are violated by the law that was expected, ` +
      `${count('reached')} states that must be reachable are reached.`,
    versions: Object.fromEntries(tools.split('; ').map((tool) => [tool.split(' ')[0] ?? tool, tool])),
    seconds: Math.round(spent + seconds),
    tables,
    limits: [
      'A model is not the code: that they agree is by reading, and by the simulator and the contract suites.',
      'Bounded: two or three workers, one to four messages, few crashes, lease ends and rebalances.',
      'Not modelled: reconcile, refused publish confirms, results kept with marks, retention by time, batches of `handleBatch`.',
    ],
  })
}

function count(kind: string): number {
  return CELLS.filter(({ expect }) => expect.kind === kind).length
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
    ...(trails.length === 0 ? [] : [{ title: `${model}${BREAKS}`, columns: ['cell', 'steps'], rows: trails }]),
  ]
}
