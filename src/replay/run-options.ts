import type { LimitOptions } from '../consumer/limit.ts'
import type { Decider } from '../people/decider.ts'
import type { Clock } from '../ports/clock.ts'
import type { Entropy } from '../ports/entropy.ts'
import type { ReplayPlaces } from '../ports/replay.ts'
import type { ReplayJournal } from './journal.ts'
import type { ReplayPlan } from './plan.ts'
import type { RunStatus, Totals } from './run-state.ts'

export interface RunOptions extends Decider {
  readonly journal: ReplayJournal
  /** Messages per second. @defaultValue 20 with a store of strategy lease, whose effects are calls of others; none for an inbox */
  readonly rate?: number | undefined
  /**
   * As the option `limit` of a consumer, in its place, for this run: keys take turns, and `shared` counts together with the
   * live consumers. With it there is no default `rate`.
   * @defaultValue as the consumer has it
   */
  readonly limit?: LimitOptions | undefined
  /** Messages that may run at once. @defaultValue as many as the consumer claims at once */
  readonly concurrency?: number | undefined
  /** Pauses after this many have been handled. */
  readonly canary?: number | undefined
  /** Pauses after this many failures. It also pauses after 50 in a row, unless the consumer has `hold: false`. */
  readonly stopOnFailures?: number | undefined
  /** Nothing begins in these hours: `21:00-08:00`, in the time zone of the process. */
  readonly quietHours?: string | undefined
  /** What happens with messages of which nobody can tell whether they were handled. @defaultValue as the plan says */
  readonly unknown?: 'handle' | 'skip' | undefined
  /** Places beside the consumer's own broker: `[fileReplay()]`. @defaultValue none */
  readonly places?: readonly ReplayPlaces[] | undefined
  /** How long running handlers have when it stops, in milliseconds. @defaultValue 30000 */
  readonly deadlineMs?: number | undefined
  /** @defaultValue the system clock */
  readonly clock?: Clock | undefined
  /** @defaultValue the system source */
  readonly entropy?: Entropy | undefined
}

/** Counts of a replay, over all its runs. */
export interface RunProgress {
  readonly id: string
  /** Messages of the plan. */
  readonly of: number
  readonly totals: Totals
  /** Messages per second of this run, and seconds until its end at this rate. */
  readonly rate: number
  readonly leftSeconds: number | undefined
  /** It waits: for the end of quiet hours, for the store, or for the rate of `limit`. */
  readonly waits: 'quiet hours' | 'store' | 'limit' | undefined
}

export interface RunResult {
  readonly id: string
  readonly plan: ReplayPlan
  readonly status: Exclude<RunStatus, 'running'>
  /** Why it paused or was aborted. */
  readonly because: string | undefined
  readonly totals: Totals
}
