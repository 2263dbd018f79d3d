// Exports for replays, as `consume-once/replay`.

export { planReplay, durationOf, type PlanOptions, type PlanProgress } from './make-plan.ts'
export { leftOf } from './run-state.ts'
export { runReplay } from './run.ts'
export { redrive } from './redrive.ts'
export {
  type RedriveOptions,
  type RedriveProgress,
  type RedriveResult,
  type RedrivenDeadLetter,
} from './redrive-options.ts'
export { redriveEntriesOf, redrivesOf, type Redrives, type RedriveStatus } from './redrives.ts'
export type { RedriveEntry } from './redrive-record.ts'
export type { Foreseen } from './foreseen.ts'
export { entriesOf, replaysOf, type Replays, type ReplayStatus } from './report.ts'
export { redriveReportLines, REPORT_FORMATS, reportLines, type ReportFormat } from './report-text.ts'
export type { RunOptions, RunProgress, RunResult } from './run-options.ts'
export type { RunState, RunStatus, Totals } from './run-state.ts'
export {
  memoryJournal,
  REPLAY_OUTCOMES,
  type JournalEntry,
  type JournalIntent,
  type ReplayJournal,
  type ReplayOutcome,
} from './journal.ts'
export type { Horizon, IdsFound, ReplayPlan, Selection } from './plan.ts'
export type { Job } from './job.ts'
export type { BucketCount, Counts, Distinct, Sample } from './tally.ts'
export type { Histogram } from './histogram.ts'
export { BUCKETS, LACKS, type Bucket, type Lack, type ReplayRules } from '../core/replay.ts'
export { REDRIVE_OUTCOMES, type RedriveOutcome } from '../core/redrive.ts'
