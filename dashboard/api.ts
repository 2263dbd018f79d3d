// The JSON API of the dashboard: types only, shared by dashboard/server and dashboard/ui.
//
// All paths are relative to the base path: the page has `<base href="%CONSUME_ONCE_BASE%">`, which the server replaces when it serves the
// page. GET requests have query parameters. POST requests have a JSON body and the header `x-consume-once-csrf` with the token of `session`.
// Times are milliseconds since 1970 by the clock of the server that reports them. An error is answered as `ApiError`.

import type * as Checkups from './api/checkups.ts'
import type * as Decisions from './api/decisions.ts'
import type * as Jobs from './api/jobs.ts'
import type * as Message from './api/message.ts'
import type * as Outbox from './api/outbox.ts'
import type * as Records from './api/records.ts'
import type * as Session from './api/session.ts'

export type * from './api/checkups.ts'
export type * from './api/decisions.ts'
export type * from './api/jobs.ts'
export type * from './api/message.ts'
export type * from './api/outbox.ts'
export type * from './api/records.ts'
export type * from './api/session.ts'
export type { DecideVerdict, RecordView } from '../src/core/record.ts'
export type { ReplayRules } from '../src/core/replay.ts'
export type { Diagnosis } from '../src/people/doctor.ts'
export type { AuditEntry } from '../src/ports/replay.ts'
export type { PlanProgress } from '../src/replay/make-plan.ts'
export type { ReplayPlan } from '../src/replay/plan.ts'
export type { RedriveResult } from '../src/replay/redrive-options.ts'
export type { RunProgress, RunResult } from '../src/replay/run-options.ts'
export type {
  LiveConsumer,
  LiveEntry,
  LiveEvent,
  LiveMeasure,
  LiveSeries,
  LiveSnapshot,
} from '../src/signals/live-snapshot.ts'
export type { Advice } from '../src/people/advice.ts'
export type { Outcome } from '../src/ports/outcome.ts'

/** Every request, by method and path, with its parameters and its answer. `consumer` is `ConsumerInfo.id`. */
export interface Api {
  'GET api/session': { readonly query: object; readonly answer: Session.SessionInfo }
  'GET api/live': { readonly query: object; readonly answer: Session.LiveAnswer }
  /** How many records wait, for each consumer. Counting stops at 1,000 or 2 s in each state; the answer may be 5 s old. */
  'GET api/counts': { readonly query: object; readonly answer: Records.CountsAnswer }
  'GET api/records': { readonly query: Records.RecordsQuery; readonly answer: Records.RecordsAnswer }
  'GET api/groups': {
    readonly query: Session.ConsumerQuery & { readonly state: Records.ListState }
    readonly answer: Records.GroupsAnswer
  }
  /** Asks the stores of all consumers. `id`: an ID, a key, an idempotency key, or on Kafka a place. */
  'GET api/find': { readonly query: { readonly id: string }; readonly answer: Message.FindAnswer }
  'GET api/message': { readonly query: Message.MessageQuery; readonly answer: Message.MessageAnswer }
  /** Decisions about one consumer, or about all that have an audit. */
  'GET api/audit': { readonly query: Decisions.AuditQuery; readonly answer: Decisions.AuditAnswer }
  'GET api/doctor': { readonly query: Session.ConsumerQuery; readonly answer: Checkups.DoctorAnswer }
  /** The verdict of `doctor` on each consumer. It asks servers: an answer may be 30 s old. */
  'GET api/guarantees': { readonly query: object; readonly answer: Checkups.GuaranteesAnswer }
  'GET api/settings': { readonly query: Session.ConsumerQuery; readonly answer: Checkups.SettingsAnswer }
  /** Strategy `offsets` only: where each partition goes on. */
  'GET api/positions': { readonly query: Session.ConsumerQuery; readonly answer: Checkups.PositionsAnswer }
  'GET api/outbox': { readonly query: Session.ConsumerQuery; readonly answer: Outbox.OutboxAnswer }
  'GET api/outboxes': { readonly query: object; readonly answer: Outbox.OutboxesAnswer }
  'GET api/replays': { readonly query: Session.ConsumerQuery; readonly answer: Jobs.ReplaysAnswer }
  'GET api/replay': {
    readonly query: Session.ConsumerQuery & { readonly id: string }
    readonly answer: Jobs.ReplayAnswer
  }
  /** The answer is text, for a download: not JSON. */
  'GET api/replay/report': {
    readonly query: Session.ConsumerQuery & { readonly id: string; readonly format?: 'text' | 'md' | 'csv' | 'json' }
    readonly answer: never
  }
  'GET api/jobs': { readonly query: object; readonly answer: { readonly jobs: readonly Jobs.JobInfo[] } }
  'GET api/job': { readonly query: { readonly id: string }; readonly answer: Jobs.JobInfo }

  /** Pauses or resumes a consumer that runs in the process of the dashboard. 409 if none does, or its kind cannot be paused. */
  'POST api/consumers/pause': { readonly body: Decisions.PauseRequest; readonly answer: Decisions.PauseAnswer }
  'POST api/consumers/resume': { readonly body: Decisions.PauseRequest; readonly answer: Decisions.PauseAnswer }

  'POST api/decisions/preview': { readonly body: Decisions.PreviewRequest; readonly answer: Decisions.DecisionPreview }
  'POST api/decisions': { readonly body: Decisions.ConfirmRequest; readonly answer: Decisions.DecisionAnswer }
  /**
   * Reads the dead-letter places, and tells what lies there and why. Read-only dashboards allow it for a log, which reading does not change;
   * a queue counts each reading as a delivery.
   */
  'POST api/dead-letters/look': {
    readonly body: Session.ConsumerQuery & Jobs.Meant & { readonly max?: number }
    readonly answer: Jobs.JobInfo
  }
  /** Redrives what the job `look` of a `dead-letters` job found: send its ID, and type the count. */
  'POST api/dead-letters/redrive': {
    readonly body: Session.ConsumerQuery & {
      readonly look: string
      readonly reason: string
      readonly confirm: number
      readonly rate?: number
    }
    readonly answer: Jobs.JobInfo
  }
  /**
   * Looks for messages by a part of them, in dead letters and topics: a job of kind `search`. Read-only dashboards leave queues out. A search
   * by `text` or `where` is in the audit of each consumer, without what was searched for.
   */
  'POST api/search': { readonly body: Jobs.SearchRequest; readonly answer: Jobs.JobInfo }
  /** Makes a plan: a job of kind `plan`, whose result is a `ReplayPlan`. */
  'POST api/plans': { readonly body: Jobs.PlanRequest; readonly answer: Jobs.JobInfo }
  /** Begins a replay, or goes on with one: a job of kind `replay`. */
  'POST api/replays/start': { readonly body: Jobs.StartRequest; readonly answer: Jobs.JobInfo }
  /** Has messages published now that their broker has refused: type the count. */
  'POST api/outbox/redrive': {
    readonly body: Outbox.OutboxRedriveRequest
    readonly answer: Outbox.OutboxRedriveAnswer
  }
  /** A replay or a redrive. */
  'POST api/replays/pause': { readonly body: Jobs.StopRequest; readonly answer: Jobs.ReplayInfo }
  'POST api/replays/abort': { readonly body: Jobs.StopRequest; readonly answer: Jobs.ReplayInfo }
  /** Ends a job of this dashboard: a plan is dropped, a replay is paused. */
  'POST api/job/stop': { readonly body: { readonly id: string }; readonly answer: Jobs.JobInfo }
}
