// Work of the process of the dashboard: looks at dead letters, redrives, plans, replays.

import type { EpochMs } from '../../src/core/units.ts'
import type { PlanOptions, PlanProgress } from '../../src/replay/make-plan.ts'
import type { ReplayPlan } from '../../src/replay/plan.ts'
import type { RedrivenDeadLetter, RedriveProgress, RedriveResult } from '../../src/replay/redrive-options.ts'
import type { RunOptions, RunProgress, RunResult } from '../../src/replay/run-options.ts'
import type { FoundMessage } from '../../src/replay/find/find.ts'
import type { SearchProgress } from '../../src/replay/find/search.ts'
import type { WorkInfo } from '../../src/replay/works.ts'
import type { ApiError, ConsumerQuery } from './session.ts'

export type JobKind = 'plan' | 'replay' | 'dead-letters' | 'redrive' | 'search'

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
  | JobBase<'search', SearchProgress, SearchFound>

export type { SearchProgress } from '../../src/replay/find/search.ts'

export interface SearchRequest {
  /** @defaultValue all */
  readonly consumers?: readonly string[]
  /** At least one of `text`, `where` and `keys`. `text`: in the payload, a header or the key. */
  readonly text?: string
  /** Conditions on fields, as those of a plan. All must hold. */
  readonly where?: readonly string[]
  /** At most 500: the dead letters of these records. */
  readonly keys?: readonly string[]
  /** Kafka topics of the consumers, too, which needs `since`. @defaultValue false */
  readonly topics?: boolean
  readonly since?: EpochMs
  readonly until?: EpochMs
  /** The most messages to look at, in each place. @defaultValue 100,000 */
  readonly max?: number
}

/** A message as far as a person may see it: no payload, and its ID only with `logIds` of its consumer. */
export interface SearchedMessage extends Pick<FoundMessage, 'from' | 'id' | 'key' | 'idempotencyKey' | 'state'> {
  readonly consumer: string
  /** `topic/partition/offset`. `undefined`: it is in a queue. */
  readonly at: string | undefined
  /** Why it was set aside, if it is a dead letter. */
  readonly reason: string | undefined
  /** When it was set aside, or else sent. */
  readonly since: EpochMs | undefined
  /** Who set it aside, as far as its headers tell. */
  readonly by: string | undefined
  readonly isConflict: boolean
}

export interface SearchFound {
  /** At most 100 of each place. */
  readonly messages: readonly SearchedMessage[]
  readonly looked: readonly {
    readonly consumer: string
    readonly from: string
    readonly looked: number
    /** How many there are; those beyond `max` were not looked at. */
    readonly of: number
    /** Left out: they have no time to select by, or lack a field of a condition. */
    readonly lacking: number
    readonly warnings: readonly string[]
  }[]
  readonly problems: readonly { readonly consumer: string; readonly code: string; readonly message: string }[]
  /** Consumers whose audit does not have it, and why. */
  readonly unnoted: readonly string[]
  readonly stopped: boolean
}

export type RunResultInfo = Pick<RunResult, 'id' | 'status' | 'because' | 'totals'>

export type LookProgress = Pick<RedriveProgress, 'looked' | 'of' | 'totals'>

/** Which dead letters are meant. What is left out does not limit. */
export interface Meant extends Pick<PlanOptions, 'since' | 'until' | 'where' | 'reasons' | 'include'> {
  /** Not both: the dead letters of one message. `key`: a key, or an idempotency key. */
  readonly id?: string
  readonly key?: string
}

export interface DeadLettersFound extends RedriveResult {
  /** What was looked for; empty: all. Only these are redriven. */
  readonly only: Meant
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
