// Runs the given seeds, and reports the results. Bundled by bundle.ts, started by run-seeds.ts.
import { createHash } from 'node:crypto'
import { check, explain, simulateAll, toLines, type Anomaly, type Promised } from '../../testing/index.ts'

/** A stretch of seeds. */
export interface Order {
  readonly from: number
  readonly to: number
  /** Reports a digest of each history too. */
  readonly digests?: true
  /** Reports the events of each. */
  readonly histories?: true
}

/** Results of a range of seeds. */
export interface Report {
  readonly tallies: Readonly<Partial<Record<Promised, Tally>>>
  readonly failures: readonly Failure[]
  readonly digests: readonly (readonly [seed: number, digest: string])[]
  readonly histories: readonly string[]
}

export interface Tally {
  schedules: number
  events: number
  /** Schedules in which it was seen, admitted. */
  readonly admitted: Partial<Record<Anomaly, number>>
}

export interface Failure {
  readonly seed: number
  readonly anomalies: readonly Anomaly[]
  readonly explained: string
}

/** Number of failures that are explained; the rest are only counted. */
const EXPLAINED = 5

async function run({ from, to, digests: isDigested, histories: isReported }: Order): Promise<Report> {
  const tallies: Partial<Record<Promised, Tally>> = {}
  const failures: Failure[] = []
  const digests: [number, string][] = []
  const histories: string[] = []
  for await (const { seed, plan, history, rules } of simulateAll(from, to)) {
    const verdict = check(history, rules)
    const tally = (tallies[plan.promised] ??= { schedules: 0, events: 0, admitted: {} })
    tally.schedules++
    tally.events += history.events.length
    for (const anomaly of verdict.admitted) tally.admitted[anomaly] = (tally.admitted[anomaly] ?? 0) + 1
    if (isDigested)
      digests.push([
        seed,
        createHash('sha256')
          .update([...toLines(history)].join('\n'))
          .digest('hex'),
      ])
    if (isReported) histories.push(JSON.stringify(plan), ...toLines(history))
    if (verdict.valid) continue
    const anomalies = [...verdict.anomalies.keys()].filter((anomaly) => !verdict.admitted.has(anomaly))
    const explained = failures.length < EXPLAINED ? `${JSON.stringify(plan)}\n${explain(verdict)}` : ''
    failures.push({ seed, anomalies, explained })
  }
  return { tallies, failures, digests, histories }
}

process.on('message', (order: Order) => {
  void run(order).then((report) => process.send?.(report))
})
