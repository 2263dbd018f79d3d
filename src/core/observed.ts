import type { Key, Reason } from './record.ts'
import type { DurationMs, EpochMs } from './units.ts'

/**
 * What `mode: 'enforce'` would have done with a message that ran in mode `observe`. `run`: run it. `duplicate`: settle it
 * without a run. `busy`: wait for another process that had it. `in-doubt`: follow `onInDoubt`. `unknown`: the store was
 * not asked, because too much waited for it or the process stopped first.
 */
export type ObservedVerdict = (typeof OBSERVED_VERDICTS)[number]

export const OBSERVED_VERDICTS = ['run', 'duplicate', 'conflict', 'in-doubt', 'busy', 'dead-letter', 'unknown'] as const

/** A message that `mode: 'enforce'` would not simply have run. It has no payload and no raw ID. */
export interface ObservedExample {
  readonly verdict: ObservedVerdict
  /** `undefined`: it has no usable ID. */
  readonly key?: Key | undefined
  readonly system: string
  readonly destination: string
  readonly position: string
  /** When its handler ended. */
  readonly at: EpochMs
  /** With `duplicate`: from the mark of the first run to this run. `undefined`: the store cannot tell. */
  readonly ageMs?: DurationMs | undefined
  /** With `dead-letter`. */
  readonly reason?: Reason | undefined
}

/** What a consumer in mode `observe` has seen. */
export interface ObservedReport {
  readonly since: EpochMs
  readonly until: EpochMs
  /** Messages by verdict. */
  readonly counts: Readonly<Record<ObservedVerdict, number>>
  /** The greatest age of a duplicate; `undefined`: there was none, or the store cannot tell. */
  readonly oldestMs?: DurationMs | undefined
  /** The newest, at most 20. */
  readonly examples: readonly ObservedExample[]
}

const MOST_EXAMPLES = 20

/** Counts verdicts, in bounded memory. */
export class ObservedTally {
  readonly #since: EpochMs
  readonly #counts = noCounts()
  #oldestMs: DurationMs | undefined
  #examples: readonly ObservedExample[] = []

  constructor(since: EpochMs) {
    this.#since = since
  }

  add(verdict: ObservedVerdict, count: number): void {
    this.#counts[verdict] += count
  }

  addExample(example: ObservedExample): void {
    this.add(example.verdict, 1)
    this.#oldestMs = greater(this.#oldestMs, example.ageMs)
    this.#examples = [...this.#examples, example].slice(-MOST_EXAMPLES)
  }

  report(now: EpochMs): ObservedReport {
    return {
      since: this.#since,
      until: now,
      counts: { ...this.#counts },
      oldestMs: this.#oldestMs,
      examples: this.#examples.toReversed(),
    }
  }
}

/** One report of several processes, or of one process that was started several times; `undefined` if there is none. */
export function mergedReport(reports: readonly ObservedReport[]): ObservedReport | undefined {
  const [first] = reports
  if (first === undefined) return undefined
  const counts = noCounts()
  let { since, until, oldestMs } = first
  for (const report of reports) {
    for (const verdict of OBSERVED_VERDICTS) counts[verdict] += report.counts[verdict] ?? 0
    since = Math.min(since, report.since)
    until = Math.max(until, report.until)
    oldestMs = greater(oldestMs, report.oldestMs)
  }
  const examples = reports.flatMap((report) => report.examples).toSorted((a, b) => b.at - a.at)
  return { since, until, counts, oldestMs, examples: examples.slice(0, MOST_EXAMPLES) }
}

function noCounts(): Record<ObservedVerdict, number> {
  return { run: 0, duplicate: 0, conflict: 0, 'in-doubt': 0, busy: 0, 'dead-letter': 0, unknown: 0 }
}

function greater(a: DurationMs | undefined, b: DurationMs | undefined): DurationMs | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return Math.max(a, b)
}
