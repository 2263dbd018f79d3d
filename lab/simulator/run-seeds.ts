import { fork } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import type { Anomaly, Promised } from '../../testing/index.ts'
import type { Mutant } from '../mutants/mutant.ts'
import { bundleChild } from './bundle.ts'
import type { Failure, Order, Report, Tally } from './child.ts'

export interface Seeds {
  readonly from: number
  readonly to: number
}

export interface SeedsOptions {
  /** A fault in the library. */
  readonly mutant?: Mutant | undefined
  /** Stops after this many failed schedules. @defaultValue 20 */
  readonly mostFailures?: number
  /** Reports a digest of each history. */
  readonly digests?: true
  /** Reports each history, event by event. */
  readonly histories?: true
  readonly onProgress?: (schedules: number) => void
}

export interface SeedsReport {
  readonly tallies: ReadonlyMap<Promised, Tally>
  /** By their seeds. */
  readonly failures: readonly Failure[]
  readonly schedules: number
  readonly seconds: number
  readonly digests: ReadonlyMap<number, string>
  /** As JSON lines. */
  readonly histories: readonly string[]
}

const STRETCH = 100

/** Runs schedules on all cores, in processes of their own. */
export async function runSeeds({ from, to }: Seeds, options: SeedsOptions = {}): Promise<SeedsReport> {
  const { mutant, mostFailures = 20, digests, histories: isReported, onProgress } = options
  const begun = performance.now()
  using bundle = await bundleChild(mutant)
  const sum = new Sum()
  let next = from
  async function work(): Promise<void> {
    // A stack for each error that a fault throws would cost more than the schedule.
    const child = fork(bundle.file, { execArgv: ['--stack-trace-limit=0'] })
    const gone = once(child, 'exit').then(([code]) => new Error(`a child ended by itself, exit ${code}`))
    while (next <= to && sum.failures.length < mostFailures) {
      const order: Order = {
        from: next,
        to: Math.min(to, next + STRETCH - 1),
        ...(digests && { digests }),
        ...(isReported && { histories: isReported }),
      }
      next = order.to + 1
      child.send(order)
      const report = await Promise.race([once(child, 'message').then(([message]) => message as Report), gone])
      if (report instanceof Error) throw report
      sum.add(report)
      onProgress?.(sum.schedules)
    }
    child.disconnect()
    await gone
  }
  const children = Math.min(availableParallelism(), Math.ceil((to - from + 1) / STRETCH))
  await Promise.all(Array.from({ length: children }, work))
  const failures = sum.failures.toSorted((one, other) => one.seed - other.seed)
  const { tallies, schedules } = sum
  return {
    tallies,
    failures,
    schedules,
    digests: sum.digests,
    histories: sum.histories,
    seconds: (performance.now() - begun) / 1000,
  }
}

class Sum {
  readonly tallies = new Map<Promised, Tally>()
  readonly failures: Failure[] = []
  readonly digests = new Map<number, string>()
  readonly histories: string[] = []
  schedules = 0

  add({ tallies, failures, digests, histories }: Report): void {
    this.failures.push(...failures)
    this.histories.push(...histories)
    for (const [seed, digest] of digests) this.digests.set(seed, digest)
    for (const [promised, { schedules, events, admitted }] of Object.entries(tallies) as [Promised, Tally][]) {
      const tally = this.tallies.get(promised) ?? { schedules: 0, events: 0, admitted: {} }
      this.tallies.set(promised, tally)
      this.schedules += schedules
      tally.schedules += schedules
      tally.events += events
      for (const [anomaly, count] of Object.entries(admitted) as [Anomaly, number][]) {
        tally.admitted[anomaly] = (tally.admitted[anomaly] ?? 0) + count
      }
    }
  }
}
