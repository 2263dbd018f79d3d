// The JSON API of the dashboard: types only, shared by dashboard/server and dashboard/ui.
//
// All paths are relative to the base path: the page has `<base href="%CONSUME_ONCE_BASE%">`, which the server replaces when it serves the
// page. GET requests have query parameters. POST requests have a JSON body and the header `x-consume-once-csrf` with the token of `session`.
// Times are milliseconds since 1970 by the clock of the server that reports them. An error is answered as `ApiError`.

import type { Advice } from '../src/people/advice.ts'
import type { Diagnosis } from '../src/people/doctor.ts'
import type { AuditEntry } from '../src/ports/replay.ts'
import type { DecideVerdict, Key, RecordView } from '../src/core/record.ts'
import type { DurationMs, EpochMs } from '../src/core/units.ts'
import type { RunProgress, RunResult } from '../src/replay/run-options.ts'
import type { RedriveResult } from '../src/replay/redrive-options.ts'
import type { ReplayStatus } from '../src/replay/report.ts'
import type { ReplayPlan } from '../src/replay/plan.ts'
import type { PlanProgress } from '../src/replay/make-plan.ts'
import type { ReplayRules } from '../src/core/replay.ts'
import type { LiveEntry, LiveSnapshot } from '../src/signals/live-snapshot.ts'

export type { Diagnosis, AuditEntry, RecordView, ReplayPlan, ReplayRules, ReplayStatus, RunProgress, RunResult }
export type { LiveEntry, LiveSnapshot, PlanProgress, RedriveResult, DecideVerdict }
export type { LiveConsumer, LiveEvent, LiveMeasure, LiveSeries } from '../src/signals/live-snapshot.ts'
export type { Advice } from '../src/people/advice.ts'
export type { Outcome } from '../src/ports/outcome.ts'

/** Every request, by method and path, with its parameters and its answer. `consumer` is `ConsumerInfo.id`. */
export interface Api {
  'GET api/session': { readonly query: object; readonly answer: SessionInfo }
  'GET api/live': { readonly query: object; readonly answer: LiveAnswer }
  /** How many records wait, for each consumer. Counting stops at 1,000 or 2 s in each state; the answer may be 5 s old. */
  'GET api/counts': { readonly query: object; readonly answer: CountsAnswer }
  'GET api/records': { readonly query: RecordsQuery; readonly answer: RecordsAnswer }
  'GET api/groups': { readonly query: ConsumerQuery & { readonly state: ListState }; readonly answer: GroupsAnswer }
  'GET api/message': { readonly query: MessageQuery; readonly answer: MessageAnswer }
  'GET api/audit': {
    readonly query: ConsumerQuery & { readonly key?: string; readonly limit?: number; readonly after?: string }
    readonly answer: AuditAnswer
  }
  'GET api/doctor': { readonly query: ConsumerQuery; readonly answer: DoctorAnswer }
  /** The verdict of `doctor` on each consumer. It asks servers: an answer may be 30 s old. */
  'GET api/guarantees': { readonly query: object; readonly answer: GuaranteesAnswer }
  'GET api/settings': { readonly query: ConsumerQuery; readonly answer: SettingsAnswer }
  /** Strategy `offsets` only: where each partition goes on. */
  'GET api/positions': { readonly query: ConsumerQuery; readonly answer: PositionsAnswer }
  'GET api/replays': { readonly query: ConsumerQuery; readonly answer: ReplaysAnswer }
  'GET api/replay': { readonly query: ConsumerQuery & { readonly id: string }; readonly answer: ReplayAnswer }
  /** The answer is text, for a download: not JSON. */
  'GET api/replay/report': {
    readonly query: ConsumerQuery & { readonly id: string; readonly format?: 'text' | 'md' | 'csv' | 'json' }
    readonly answer: never
  }
  'GET api/jobs': { readonly query: object; readonly answer: { readonly jobs: readonly JobInfo[] } }
  'GET api/job': { readonly query: { readonly id: string }; readonly answer: JobInfo }

  /** Pauses or resumes a consumer that runs in the process of the dashboard. 409 if none does, or its kind cannot be paused. */
  'POST api/consumers/pause': { readonly body: PauseRequest; readonly answer: PauseAnswer }
  'POST api/consumers/resume': { readonly body: PauseRequest; readonly answer: PauseAnswer }

  'POST api/decisions/preview': { readonly body: PreviewRequest; readonly answer: DecisionPreview }
  'POST api/decisions': { readonly body: ConfirmRequest; readonly answer: DecisionAnswer }
  /**
   * Reads the dead-letter places, and tells what lies there and why. Read-only dashboards allow it for a log, which reading does not change;
   * a queue counts each reading as a delivery.
   */
  'POST api/dead-letters/look': {
    readonly body: ConsumerQuery & { readonly max?: number }
    readonly answer: JobInfo
  }
  /** Redrives what the job `look` of a `dead-letters` job found: send its ID, and type the count. */
  'POST api/dead-letters/redrive': {
    readonly body: ConsumerQuery & {
      readonly look: string
      readonly reason: string
      readonly confirm: number
      readonly rate?: number
    }
    readonly answer: JobInfo
  }
  /** Makes a plan: a job of kind `plan`, whose result is a `ReplayPlan`. */
  'POST api/plans': { readonly body: PlanRequest; readonly answer: JobInfo }
  /** Begins a replay, or goes on with one: a job of kind `replay`. */
  'POST api/replays/start': { readonly body: StartRequest; readonly answer: JobInfo }
  'POST api/replays/pause': { readonly body: StopRequest; readonly answer: ReplayStatus }
  'POST api/replays/abort': { readonly body: StopRequest; readonly answer: ReplayStatus }
  /** Ends a job of this dashboard: a plan is dropped, a replay is paused. */
  'POST api/job/stop': { readonly body: { readonly id: string }; readonly answer: JobInfo }
}

/**
 * `status` repeats that of the response: 400 the request is wrong, 401 no credentials, 403 refused by Origin, Host, CSRF token or `auth`,
 * 404 not there, 405 the dashboard is read-only, 409 refused by a state or a safety rule, 413 body too large, 429 too many requests
 * (`retryAfterMs`), 503 a store or broker does not answer: ask again, the page heals by itself.
 */
export interface ApiError {
  readonly error: {
    readonly status: number
    /** A code of the library, such as `STORE_UNREACHABLE` or `REPLAY_REFUSED`, or `HTTP_...`. */
    readonly code: string
    /** One sentence for people. */
    readonly message: string
    readonly retryAfterMs?: DurationMs
  }
}

export interface ConsumerQuery {
  readonly consumer: string
}

export interface SessionInfo {
  readonly version: string
  /** The clock of this server, to compare with times in answers. */
  readonly now: EpochMs
  /** Who decides, for the audit: from `auth`, or the user of the operating system. */
  readonly by: string
  readonly readOnly: boolean
  /** For `x-consume-once-csrf`. Ask `session` again after a 403 with code `HTTP_CSRF`: the server was restarted. */
  readonly csrfToken: string
  readonly environment: { readonly name: string; readonly color: string } | undefined
  readonly showPayload: boolean
  /** False: nothing live is known, only records: no `live`, and no `instances`. */
  readonly hasLive: boolean
  readonly consumers: readonly ConsumerInfo[]
}

export interface ConsumerInfo {
  /** `group/name`, unique. */
  readonly id: string
  readonly name: string
  /** Consumer group, or queue. */
  readonly group: string
  readonly origins: readonly string[]
  readonly strategy: 'lease' | 'inbox' | 'offsets'
  readonly system: 'kafka' | 'rabbitmq' | 'memory' | 'file' | undefined
  readonly scope: string
  readonly retentionMs: DurationMs
  /** Places with dead letters, as `from` of a plan: `kafka:sms.dead-letter`. */
  readonly deadLetters: readonly string[]
  /** Places that a plan may read: topics or the queue, and the dead-letter places. */
  readonly places: readonly string[]
  readonly can: {
    /** Records can be listed and decided about; false for strategy `offsets`. */
    readonly records: boolean
    readonly positions: boolean
    readonly audit: boolean
    readonly plan: boolean
    readonly replay: boolean
    /** A message can be found by topic, partition and offset. */
    readonly place: boolean
    /** Dead letters can be looked at now: false on a queue while read-only. */
    readonly deadLetters: boolean
  }
}

// Live signals

/** `this process`, or the address of an instance. */
export interface LiveInstance {
  readonly name: string
  readonly state: 'ok' | 'unreachable'
  /** Why it is unreachable. No secrets. */
  readonly error?: string
  /** `undefined` while it was never reached. While it is unreachable: the last one. */
  readonly snapshot: LiveSnapshot | undefined
}

export interface LiveAnswer {
  readonly now: EpochMs
  readonly instances: readonly LiveInstance[]
}

// Records

export type ListState = 'processing' | 'in-doubt' | 'parked' | 'given-up'

export interface StateCount {
  readonly count: number
  readonly isAtLeast: boolean
}

export interface CountsAnswer {
  readonly now: EpochMs
  readonly consumers: readonly {
    readonly consumer: string
    /** `undefined`: no records to count (strategy `offsets`), or the store did not answer. */
    readonly counts: Readonly<Record<ListState, StateCount>> | undefined
    /** When it was counted. */
    readonly at: EpochMs | undefined
    readonly error: ApiError['error'] | undefined
  }[]
}

export interface RecordsQuery extends ConsumerQuery {
  readonly state: ListState
  /** 1 to 500. @defaultValue 50 */
  readonly limit?: number
  /** `next` of the page before. */
  readonly after?: string
  /** Only records with exactly this reason; empty: those without a reason. */
  readonly reason?: string
  /** Only records with this text in the reason or the cause. */
  readonly text?: string
  /** Only records that were set aside before this time. */
  readonly before?: EpochMs
}

/** A record for people: without its digest, from which a short payload could be guessed, and without its result. */
export interface RecordRow extends Omit<RecordView, 'digest' | 'result'> {
  readonly key: Key
  readonly hasResult?: true
}

export interface RecordsAnswer {
  readonly now: EpochMs
  readonly records: readonly RecordRow[]
  /** How many records were looked at for this page, in whatever state. */
  readonly looked: number
  /**
   * A page ends after 2 s, and then may be empty and still have a next one: what is rare lies anywhere. It may also be longer than
   * `limit`.
   */
  readonly next: string | undefined
}

/** Counted over at most 10,000 records, or 2 s. The answer may be 10 s old. */
export interface GroupsAnswer {
  readonly now: EpochMs
  readonly total: StateCount
  /** The largest first. At most 100. */
  readonly groups: readonly {
    /** Empty: no reason is kept, as for what is processing. */
    readonly reason: string
    readonly count: number
    /** Since when the oldest and the newest are set aside. */
    readonly oldest: EpochMs | undefined
    readonly newest: EpochMs | undefined
    /** One cause, as an example. */
    readonly cause: string | undefined
  }[]
}

// One message

/** One of `id`, `key` and `at`. */
export interface MessageQuery extends ConsumerQuery {
  readonly id?: string
  /** A key, or its first 4 characters or more. */
  readonly key?: string
  /** `topic/partition/offset`, on Kafka. */
  readonly at?: string
  /** With `id`: where it was first published. @defaultValue all origins of the consumer */
  readonly origin?: string
}

export interface MessageAnswer {
  readonly now: EpochMs
  /** One for each origin under which the message has a record; one that is `absent` if there is none. */
  readonly records: readonly MessageRecord[]
  /** With `at`: what lies there. */
  readonly message: ShownMessage | undefined
  /** With `at`: the message has no usable ID; why. */
  readonly noId: string | undefined
}

export interface MessageRecord extends RecordRow {
  readonly origin: string | undefined
  /** Starts of the handler before it is given up, or parked if it is in doubt. */
  readonly maxAttempts: number
  /** Whether it went out; before it, that another message came with the same ID. */
  readonly verdicts: readonly Verdict[]
  /** Another message came with the same ID and another payload. */
  readonly isConflict: boolean
  /** What happened, in the order of time. */
  readonly story: readonly Told[]
  /** What to do about it, in plain words. */
  readonly advice: Advice
  /** What a person may decide about it. Empty if the dashboard is read-only. */
  readonly decisions: readonly DecisionKind[]
  /** Decisions about this message, the newest first, at most 50. */
  readonly audit: readonly AuditRow[]
  /** What live consumers remember about it, the oldest first: deliveries with their steps, failed attempts. */
  readonly entries: readonly (LiveEntry & { readonly instance: string })[]
}

export interface Verdict {
  readonly tone: 'good' | 'watch' | 'alarm' | 'none'
  readonly text: string
  readonly details: readonly string[]
}

/** One sentence of what happened. */
export interface Told {
  readonly from: EpochMs
  /** Later than `from` if the same happened several times. */
  readonly to: EpochMs
  readonly text: string
}

/** A message as the broker has it. Payload and headers only with `showPayload`, redacted. */
export interface ShownMessage {
  /** `sms/3` */
  readonly part: string
  readonly position: string
  readonly origin: string
  readonly timestamp: EpochMs | undefined
  readonly bytes: number | undefined
  readonly payload: string | undefined
  /** The payload was longer than 16 kB, and was cut. */
  readonly isCut: boolean
  readonly headers: readonly { readonly name: string; readonly value: string }[] | undefined
}

export interface AuditRow extends Omit<AuditEntry, 'record'> {}

export interface AuditAnswer {
  readonly entries: readonly AuditRow[]
  readonly next: string | undefined
}

export interface PauseRequest extends ConsumerQuery {
  /** For the audit, the log and the events of the consumer. No payload, no secret. */
  readonly reason: string
}

export interface PauseAnswer {
  /** How many runs of it were asked to. */
  readonly runs: number
  /** Why the audit does not have it; `undefined`: it has. */
  readonly unnoted: string | undefined
}

// Decisions: preview, then confirm

/** `done`: the effect happened. `rerun`, `reopen`: it runs at its next delivery. `forget`: it is done, and happens again. */
export type DecisionKind = 'done' | 'rerun' | 'reopen' | 'forget'

/** One of `keys` and `matching`. */
export interface PreviewRequest extends ConsumerQuery {
  readonly decision: DecisionKind
  /** At most 1,000. */
  readonly keys?: readonly string[]
  /** All that match, at most 1,000 in one decision. */
  readonly matching?: Pick<RecordsQuery, 'state' | 'reason' | 'text' | 'before'>
}

export interface DecisionPreview {
  /** Good for 5 minutes, once, for exactly these records in the state in which they were shown. */
  readonly token: string
  readonly decision: DecisionKind
  /** What happens to a message, in plain words. */
  readonly effect: string
  /** How many change: send it as `confirm`. */
  readonly changing: number
  readonly already: number
  readonly refused: number
  /** More than 1,000 matched: decide again after this. */
  readonly hasMore: boolean
  /** At most 50. */
  readonly rows: readonly (RecordRow & {
    readonly verdict: DecideVerdict | 'no-record'
    readonly consequence: string
  })[]
}

export interface ConfirmRequest extends ConsumerQuery {
  readonly token: string
  /** For the audit. No payload, no secret. */
  readonly reason: string
  /** `changing` of the preview. */
  readonly confirm: number
}

export interface DecisionAnswer {
  /** `refused`: the record has changed since the preview. */
  readonly decided: number
  readonly already: number
  readonly refused: number
  /** Keys that were refused, at most 50. */
  readonly refusedKeys: readonly Key[]
}

// Doctor, settings, positions

export interface DoctorAnswer {
  /** When the servers were asked: the answer may be 30 s old. */
  readonly at: EpochMs
  readonly diagnosis: Diagnosis
}

export interface GuaranteesAnswer {
  readonly now: EpochMs
  readonly consumers: readonly {
    readonly consumer: string
    /** `undefined`: it could not be found out. */
    readonly verdict: Diagnosis['verdict'] | undefined
    /** Consequences of what breaks the guarantee, for people. */
    readonly broken: readonly string[]
  }[]
}

export interface SettingsAnswer {
  readonly settings: readonly {
    readonly name: string
    /** For people: `30 s`, `park`, `a function`. Never a secret. */
    readonly value: string
    /** `default`: it has the default value, whoever set it. */
    readonly origin: 'given' | 'default'
    /** What it means, in one sentence. Empty if its name says it. */
    readonly about: string
  }[]
  readonly migrations: readonly {
    readonly where: string
    readonly run: readonly string[]
    readonly pending: readonly string[]
    readonly drift: readonly string[]
    /** It did not answer; why. */
    readonly error: string | undefined
  }[]
}

export interface PositionsAnswer {
  readonly positions: readonly {
    readonly stream: string
    /** The offset at which it goes on, as text. */
    readonly next: string
    /** Why nothing of it is handled, until a person decides. */
    readonly held: string | undefined
    readonly heldSince: EpochMs | undefined
  }[]
}

// Jobs and replays

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

export interface LookProgress {
  readonly looked: number
  readonly of: number
  readonly totals: RedriveResult['totals']
}

export interface DeadLettersFound extends RedriveResult {
  /** At most 50 of them. */
  readonly sample: readonly {
    readonly part: string
    readonly position: string
    readonly key: Key | undefined
    readonly outcome: keyof RedriveResult['totals']
    readonly reason: string | undefined
    readonly destination: string | undefined
  }[]
}

export interface PlanRequest extends ConsumerQuery {
  /** One of `ConsumerInfo.places`, a partition of one (`kafka:sms@3`). Files are for the command-line tool. */
  readonly from: string
  readonly since?: EpochMs
  readonly until?: EpochMs
  /** Offsets, as text. */
  readonly fromPosition?: string
  readonly toPosition?: string
  readonly ids?: readonly string[]
  readonly where?: readonly string[]
  readonly reasons?: readonly string[]
  /** @defaultValue 100,000 */
  readonly max?: number
  readonly groupBy?: string
  readonly rules?: Partial<ReplayRules>
}

/** One of `plan`, the ID of a finished `plan` job, and `resume`, the ID of a replay. */
export interface StartRequest extends ConsumerQuery {
  readonly plan?: string
  readonly resume?: string
  readonly reason: string
  /** `toHandle` of the plan; to go on with a replay, `left` of its status. */
  readonly confirm: number
  /** Messages per second. */
  readonly rate?: number
  readonly concurrency?: number
  readonly canary?: number
  readonly stopOnFailures?: number
  readonly quietHours?: string
  readonly unknown?: 'handle' | 'skip'
}

export interface ReplayRequest extends ConsumerQuery {
  readonly id: string
}

export interface StopRequest extends ReplayRequest {
  /** For the audit. */
  readonly reason: string
}

export interface ReplaysAnswer {
  readonly now: EpochMs
  readonly replays: readonly ReplayStatus[]
}

export interface ReplayAnswer {
  readonly now: EpochMs
  readonly status: ReplayStatus
  readonly plan: ReplayPlan
  /** It runs in this process: its rate, and the time that is left. */
  readonly progress: RunProgress | undefined
  /** The journal can be read from here. */
  readonly hasReport: boolean
}
