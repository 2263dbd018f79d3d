// Work of the process of the dashboard: looks at dead letters, redrives, plans, replays.

import type { EpochMs } from '../../src/core/units.ts'
import type { PlanOptions, PlanProgress } from '../../src/replay/make-plan.ts'
import type { ReplayPlan } from '../../src/replay/plan.ts'
import type { RedrivenDeadLetter, RedriveProgress, RedriveResult } from '../../src/replay/redrive-options.ts'
import type { RunOptions, RunProgress, RunResult } from '../../src/replay/run-options.ts'
import type { WorkInfo } from '../../src/replay/works.ts'
import type { ApiError, ConsumerQuery } from './session.ts'

export type JobKind = 'plan' | 'replay' | 'dead-letters' | 'redrive'

interface JobBase<Kind extends JobKind, Progress, Result> {
  readonly id: string
  readonly kind: Kind
  readonly consumer: string
  readonly by: string
  readonly startedAt: EpochMs
  readonly endedAt: EpochMs | undefined
  readonly state: 'running' | 'finished' | 'failed'
  /** With `failed`. */
  readonly error: ApiError['error'] | undefined
  readonly progress: Progress | undefined
  /** With `finished`. */
  readonly result: Result | undefined
}

/** Work of this dashboard's process. It keeps the last 50 for an hour. */
export type JobInfo =
  | JobBase<'plan', PlanProgress, ReplayPlan>
  | JobBase<'replay', RunProgress, RunResultInfo>
  | JobBase<'dead-letters', LookProgress, DeadLettersFound>
  | JobBase<'redrive', LookProgress, RedriveResult>

export type RunResultInfo = Pick<RunResult, 'id' | 'status' | 'because' | 'totals'>

export type LookProgress = Pick<RedriveProgress, 'looked' | 'of' | 'totals'>

/** At most one of them: the dead letters of one message. */
export interface OneMessage {
  readonly id?: string
  readonly key?: string
}

export interface DeadLettersFound extends RedriveResult {
  /** What was looked for; empty: all. Only these are redriven. */
  readonly only: OneMessage
  /** At most 50 of them. */
  readonly sample: readonly RedrivenDeadLetter[]
}

export interface PlanRequest
  extends
    ConsumerQuery,
    Pick<PlanOptions, 'since' | 'until' | 'ids' | 'where' | 'reasons' | 'include' | 'groupBy' | 'rules'> {
  /** One of `ConsumerInfo.places`, a partition of one (`kafka:sms@3`). Files are for the command-line tool. */
  readonly from: string
  /** Offsets, as text. */
  readonly fromPosition?: string
  readonly toPosition?: string
  /** The most messages to look at. @defaultValue 100,000 */
  readonly max?: number
}

/** One of `plan`, the ID of a finished `plan` job, and `resume`, the ID of a replay. */
export interface StartRequest
  extends
    ConsumerQuery,
    Pick<RunOptions, 'rate' | 'concurrency' | 'canary' | 'stopOnFailures' | 'quietHours' | 'unknown' | 'reason'> {
  readonly plan?: string
  readonly resume?: string
  /** `toHandle` of the plan; to go on with a replay, `left` of its status. */
  readonly confirm: number
}

export interface ReplayRequest extends ConsumerQuery {
  readonly id: string
}

export interface StopRequest extends ReplayRequest {
  /** For the audit. */
  readonly reason: string
}

export type { WorkInfo as ReplayInfo }

export interface ReplaysAnswer {
  readonly now: EpochMs
  /** The newest first. */
  readonly replays: readonly WorkInfo[]
}

export interface ReplayAnswer {
  readonly now: EpochMs
  readonly status: WorkInfo
  /** Replays only. */
  readonly plan: ReplayPlan | undefined
  /** It is a replay and runs in this process: its rate, and the time that is left. */
  readonly progress: RunProgress | undefined
  /** The journal can be read from here. */
  readonly hasReport: boolean
}
