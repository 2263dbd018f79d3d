import { causesOf, effectsById } from '../chaos/judge-effects.ts'
import { replayOf } from '../chaos/report.ts'
import type { ProofPart, ProofTable } from '../proof/part.ts'
import type { SoakRun } from './run.ts'
import type { Sample } from './sample.ts'

const STRATEGY = { postgres: 'postgresInbox with handleBatch', redis: 'redisLease' } as const
/** As many as fit on a page. */
const ROWS = 20
const FAULTS: readonly string[] = [
  'worker-kill',
  'worker-freeze',
  'worker-stop',
  'broker-kill',
  'broker-freeze',
  'broker-restart',
  'connections-cut',
  'partition-move',
  'coordinator-move',
  'store-connections-cut',
]

/** Section of docs/proof.md for a run without a failure. */
export function partOf(run: SoakRun): ProofPart {
  const { options, verdict, journal, evidence, versions, seconds } = run
  const { messages, broker, store, seed } = options
  const faults = FAULTS.map((fault) => [fault, journal.counts.get(fault) ?? 0] as const).filter(
    ([, times]) => times > 0,
  )
  const total = faults.reduce((sum, [, times]) => sum + times, 0)
  return {
    title: 'Soak',
    command: replayOf(options),
    summary:
      `${messages.toLocaleString('en')} messages on ${broker} by ${STRATEGY[store]}, seed ${seed}, under ${total} faults in ` +
      `${Math.round(seconds / 6) / 10} minutes: none lost, ${doublesText(verdict.figures['doubles'] ?? 0)}, nothing grew, nothing was left.`,
    versions,
    seconds,
    tables: [
      { title: 'Faults', columns: ['fault', 'times'], rows: faults },
      { title: 'Totals', columns: ['what', 'count'], rows: Object.entries(verdict.figures) },
      { title: 'Done twice, by what made it possible', columns: ['cause', 'count'], rows: causes(run) },
      overTime(evidence.samples),
    ],
    limits: [
      'Ten minutes: what grows by less than half of itself in them is not seen, nor what grows by the day.',
      'Records are purged once a second by an operator, whom the background purge of a worker would replace over hours.',
      'Servers run on one machine, and Postgres without fsync: nothing loses its power.',
    ],
  }
}

function doublesText(doubles: number): string {
  return doubles === 0 ? 'none done twice' : `${doubles} done twice, each explained by a kill or a freeze`
}

function causes({ evidence }: SoakRun): ProofTable['rows'] {
  const found = [...effectsById(evidence.effects).values()].flatMap((ofOne) => causesOf(ofOne, evidence))
  return (['killed', 'frozen'] as const).map((kind) => [kind, found.filter((cause) => cause === kind).length])
}

/** A dash: no answer in time. */
function overTime(samples: readonly Sample[]): ProofTable {
  const every = Math.max(1, Math.floor(samples.length / ROWS))
  const shown = samples.filter((_, index) => index % every === every - 1)
  return {
    title:
      'Over time; heap after a collection, resident memory, timers and handles of each worker, of which the last is never started again',
    columns: [
      'second',
      'records',
      'store MB',
      'connections',
      'lingering transactions',
      'oldest ms',
      'backlog',
      'heap MB',
      'RSS MB',
      'timers',
      'handles',
    ],
    rows: shown.map(rowOf),
  }
}

function rowOf({ at, records, transactions, backlog, workers }: Sample): readonly (string | number)[] {
  const all = (of: (worker: Sample['workers'][number]) => number | undefined): string =>
    workers.map((worker) => Math.round(of(worker) ?? 0)).join(' / ')
  const cells = [
    Math.round(at / 1_000),
    records?.count,
    records?.mb.toFixed(1),
    transactions?.connections,
    transactions?.lingering,
    transactions && Math.round(transactions.oldestMs),
    backlog,
    all(({ usage }) => usage?.heapMb),
    all(({ rssMb }) => rssMb),
    all(({ usage }) => usage?.timers),
    all(({ usage }) => usage?.handles),
  ]
  return cells.map((cell) => cell ?? '-')
}
