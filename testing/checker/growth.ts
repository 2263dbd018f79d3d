import type { EventOf, HistoryEvent } from '../history.ts'
import type { Facts } from './facts.ts'

/** With fewer samples of a process nothing is judged. */
const FEWEST = 15
/** Share of a process's samples after its warm-up. */
const WARM = 0.8
/** Unbounded growth more than doubles after the warm-up; a smaller factor is tolerated. */
const MOST_GROWTH = 1.5

/** Growth below these amounts is ignored. */
const SLACK = { heapMb: 16, records: 100, openTransactions: 5 } as const
type Measure = keyof typeof SLACK

/**
 * L4, for each process: compares the median of the last third with that of the first third. Records are judged only if
 * retention ends within the run; otherwise each message rightly leaves one.
 */
export function judgeGrowth(facts: Facts): void {
  const samples = facts.history.events.filter(isSample)
  for (const proc of new Set(samples.map((sample) => sample.proc))) {
    const ofProc = samples.filter((sample) => sample.proc === proc)
    for (const measure of ['heapMb', 'records', 'openTransactions'] as const) judgeMeasure(measure, proc, ofProc, facts)
  }
}

function isSample(event: HistoryEvent): event is EventOf<'sample'> {
  return event.f === 'sample'
}

function judgeMeasure(measure: Measure, proc: string, samples: readonly EventOf<'sample'>[], facts: Facts): void {
  const all = samples.flatMap((sample) => sample[measure] ?? [])
  if (all.length < FEWEST) return
  const warm = all.slice(Math.ceil(all.length * (1 - WARM)))
  const third = Math.floor(warm.length / 3)
  const first = median(warm.slice(0, third))
  const last = median(warm.slice(-third))
  if (last <= first * MOST_GROWTH + SLACK[measure]) return
  facts.found('L4 growth', `${measure} of ${proc} rose from ${first} to ${last} and did not level off`, {
    samplesOf: proc,
  })
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0
}
