// What the adapters of this repository import. Not exported from the package: of that, authors.ts has what authors of
// stores and sources need.

export { defineConsumer, type Consumer } from './consumer/define-consumer.ts'
export type { ConsumerOptions, ConsumerSettings } from './consumer/options.ts'
export { durationText } from './core/duration-text.ts'
export { runConsumer } from './run/run.ts'
export { runInline, type InlineRunning, type Settlement } from './run/inline.ts'
export { STOP, stopBy } from './run/stop-options.ts'
export { LEAVE_AFTER, resolveLeaveAfter } from './run/leave-after.ts'
export { CONSUMER } from './consumer/consumer-table.ts'
export {
  asGiven,
  either,
  ELSEWHERE,
  flag,
  func,
  having,
  hasMethod,
  judged,
  listOf,
  LONGEST_TIMER_MS,
  matching,
  millis,
  needed,
  object,
  oneOf,
  optionsOf,
  or,
  readOptions,
  refuse,
  plainText,
  where,
  whole,
  type AnyRule,
  type Complete,
  type Defaulted,
  type Needed,
  type Rule,
  type Table,
} from './foundation/options.ts'
export { clockOption, entropyOption } from './foundation/system-options.ts'
export {
  checkFunction,
  checkNames,
  checkNumber,
  checkOneOf,
  checkText,
  checkObject,
  checkWhole,
  givenOf,
  isPlainText,
  knownOptions,
  shown,
  withoutUndefined,
  type NamesOf,
} from './foundation/option-checks.ts'
export { checkFindings, refusalsOf, type AtStart, type CheckFindings } from './foundation/check-findings.ts'
export type { Running, Starting, StopOptions } from './ports/lifecycle.ts'
export { askedForTransaction, onceInOneRun } from './once/once.ts'
export { noTransaction } from './execution/without-transaction.ts'
export { LostRun } from './once/lost-run.ts'
export { checkOnce } from './once/options.ts'
export type { OnceContext, OnceOptions } from './once/options.ts'
export type { Health } from './ports/health.ts'
export {
  BrokerError,
  ConfigError,
  ConsumeOnceError,
  InvariantError,
  LeaseLostError,
  OutcomeUnknownError,
  ReplayError,
  StoppedError,
  StoreError,
  TransactionError,
  describeError,
  hasCode,
  isConsumeOnceError,
} from './foundation/errors.ts'
export { isoTime, systemClock } from './foundation/clock.ts'
export { systemEntropy } from './foundation/entropy.ts'
export { within } from './foundation/within.ts'
export { atOnce, promiseRefused } from './foundation/at-once.ts'
export { stepFor } from './core/replay.ts'
export { transition, verdictOn, viewOf } from './core/record.ts'
export type {
  AsideStory,
  Cause,
  ClaimVerdict,
  Command,
  DecideVerdict,
  Decision,
  Digest,
  Key,
  MarkVerdict,
  MessageRecord,
  OwnerToken,
  Reason,
  RecordView,
  ReleaseVerdict,
  RenewVerdict,
  Result,
  SetAsideVerdict,
  Transition,
} from './core/record.ts'
export {
  claimStream,
  nextAfter,
  type PositionRecord,
  type StoredPosition,
  type StreamClaim,
  type StreamItem,
} from './core/position.ts'
export { failureOf, isFailure, readResult, resultOf } from './core/result.ts'
export type {
  DeliveryTrace,
  RunTrace,
  TracedConsumer,
  TracedDelivery,
  TracedEnd,
  TracedError,
  TracedItem,
  TracedResult,
  TracedStart,
  TracedStep,
  TracedSteps,
  Tracing,
} from './ports/tracing.ts'
export type { RedeliveryWindow } from './core/retention.ts'
export type { DurationMs, EpochMs, MonotonicMs } from './core/units.ts'
export { Losses } from './core/losses.ts'
export { backoffMs, type Backoff } from './core/backoff.ts'
export type { Work } from './core/progress.ts'
export { Watermark } from './core/watermark.ts'
export { compareLandmark, landmarkIn, landmarkText, type Landmark, type Likeness } from './core/landmark.ts'
export { isFull, type Load } from './core/backpressure.ts'
export {
  decideBatch,
  decideControlBatch,
  expectedAtJoin,
  type Expected,
  type Finding,
  type LogBounds,
} from './core/expected-offset.ts'
export type { CheckFinding, Checkup } from './ports/checkup.ts'
export type { IdleLimit } from './ports/store.ts'
export type { DoneChannel, DoneEars } from './ports/done-channel.ts'
export type { Clock } from './ports/clock.ts'
export type { CheckedConsumer, Subscription } from './ports/subscription.ts'
export type { Logger } from './ports/logger.ts'
export type { Observer } from './ports/observer.ts'
export type { Message } from './ports/message.ts'
export type { Migrations, MigrationStatus } from './ports/migrations.ts'
export { isAskedFor } from './people/audit-filter.ts'
export { EachOnce } from './people/each-once.ts'
export { latestOf, RETENTION_NOTED_MS, sinceFirst, sinceKept } from './people/known-since.ts'
export { checkReplayState } from './replay/replay-state.ts'
export type { ReplayJournal } from './replay/journal.ts'
export { COPY_HEADER, describesCopy, isBrokerHeader, type CopyHeader } from './copies/vocabulary.ts'
export { copyFlag, copyNumber, copyText, copyTime, deadLetterIn, headerText } from './copies/values.ts'
export { copyHeaders, redrivenHeaders } from './copies/text.ts'
export { isTopicName, originTopicIn } from './copies/kafka.ts'
export type {
  AskedRange,
  AuditEntry,
  DeadLetterFacts,
  LedgerEntry,
  ReadOptions,
  ReplayItem,
  ReplayLedger,
  ReplayPart,
  ReplayPlaces,
  ReplayPublisher,
  ReplayRange,
  ReplayReader,
  ReplayRequest,
  Republished,
  SaveAnswer,
  Taking,
  TakeVerdict,
} from './ports/replay.ts'
export type {
  Backlog,
  Capacity,
  DeadLetter,
  Delivery,
  DeliveryEnd,
  Intake,
  MessageCopy,
  PartitionHealth,
  Publisher,
  RetryCopy,
  Source,
  SourceEvent,
  SourceHealth,
  Standing,
  StoredPositions,
  StreamPosition,
} from './ports/source.ts'
export type {
  Claim,
  ClaimAnswer,
  ClaimItem,
  ClaimRequest,
  HoldRelease,
  HoldVerdict,
  InboxStore,
  LeaseAnswer,
  LeaseStore,
  LentTransaction,
  ListedPosition,
  OffsetsStore,
  OpenTransaction,
  Positions,
  ReleaseOptions,
  SetAsideOptions,
  Store,
  StoreCalls,
  Strategy,
  TransactionAnswer,
  TransactionClaim,
} from './ports/store.ts'
export type {
  AuditPage,
  AuditQuery,
  KnownSince,
  ListedState,
  ListQuery,
  Note,
  Purged,
  Purging,
  RecordPage,
  Resolution,
  StoreAdmin,
  Why,
} from './ports/store-admin.ts'
export {
  resolveSequences,
  SEQUENCE_OPTIONS,
  splitSequences,
  type ResolvedSequences,
  type SequenceOptions,
} from './sequences/options.ts'
export { inboxSequencesOver } from './sequences/inbox.ts'
export { sequencesOver } from './sequences/store.ts'
export type { SequenceLedger, SourceKey, SourceSwap } from './ports/sequence-ledger.ts'
export { Meter } from './signals/meter.ts'
export {
  COUNTERS,
  GAUGES,
  HISTOGRAMS,
  idsOf,
  type GaugeMetric,
  type HistogramMetric,
  type Metric,
} from './signals/metrics.ts'
export type { Count, Distribution, Labels } from './signals/series.ts'
