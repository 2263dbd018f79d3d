// What the adapters of this repository import. Not exported from the package: of that, spi.ts has what authors of
// stores and sources need.

export * from './spi.ts'
export { defineConsumer, type Consumer } from './consumer/define-consumer.ts'
export type { ConsumerOptions, ConsumerSettings } from './consumer/options.ts'
export { isSequenceKey } from './identity/sequence-key.ts'
export { keyOfProvider } from './records/key-in.ts'
export { countedText } from './core/counted-text.ts'
export { durationText } from './core/duration-text.ts'
export { WHY_UNUSABLE, whyUnusable } from './core/message-id.ts'
export { runInline, type InlineRunning, type Settlement } from './run/inline.ts'
export type { DeliveryWatch } from './run/delivery-watch.ts'
export { STOP, stopBy } from './run/stop-options.ts'
export { LEAVE_AFTER } from './run/leave-after.ts'
export { openInline } from './run/open-inline.ts'
export { SourceEvents } from './run/source-events.ts'
export { CONSUMER, OF_THE_CONSUMER } from './consumer/consumer-table.ts'
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
  matching,
  millis,
  needed,
  nowCalled,
  object,
  oneOf,
  optionsOf,
  or,
  readOptions,
  refuse,
  placed,
  plainText,
  where,
  whole,
  type AnyRule,
  type Complete,
  type Defaulted,
  type NamesOf,
  type Needed,
  type Rule,
  type Table,
} from './foundation/options.ts'
export { clockOption } from './foundation/system-options.ts'
export { isPlainText, shown } from './foundation/shown.ts'
export { withoutUndefined } from './foundation/without-undefined.ts'
export { checkFindings, refusalsOf, type AtStart, type CheckFindings } from './foundation/check-findings.ts'
export type { Running, Starting, StopOptions } from './ports/lifecycle.ts'
export { askedForTransaction, onceInOneRun } from './once/once.ts'
export { noTransaction } from './execution/without-transaction.ts'
export { LostRun } from './once/lost.ts'
export { ONCE, problemsOfOnce } from './once/options.ts'
export type { OnceContext, OnceOptions } from './once/options.ts'
export type { Health } from './ports/health.ts'
export {
  ConsumeOnceError,
  LeaseLostError,
  OutcomeUnknownError,
  isConsumeOnceError,
  unanswered,
} from './foundation/errors.ts'
export { isoTime } from './foundation/clock.ts'
export { within } from './foundation/within.ts'
export { Idle } from './foundation/idle.ts'
export { atOnce, promiseRefused } from './foundation/at-once.ts'
export { stepFor } from './core/replay.ts'
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
export { Losses } from './core/losses.ts'
export { backoffMs, type Backoff } from './core/backoff.ts'
export type { Work } from './core/progress.ts'
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
export { outgoingOf } from './outbox/outgoing.ts'
export { brokerOf, setBroker } from './outbox/publishes-to.ts'
export { RunPublishing } from './outbox/publishing.ts'
export { Relay } from './outbox/relay.ts'
export type {
  Outbox,
  OutboxBacklog,
  OutboxRefused,
  OutboxTable,
  Outgoing,
  OutgoingMessage,
  OutgoingRow,
  OutgoingSystem,
  Publishing,
  RelayEvent,
  TakenRows,
  UnpublishedRow,
} from './ports/outbox.ts'
export type { Logger } from './ports/logger.ts'
export type { SharedLimit, SharedPermits, SharedQuota } from './ports/shared-limit.ts'
export type { Observer } from './ports/observer.ts'
export type { Migrations, MigrationStatus, UpOptions } from './ports/migrations.ts'
export { isAskedFor } from './records/audit-filter.ts'
export { EachOnce } from './records/each-once.ts'
export { latestOf, RETENTION_NOTED_MS, sinceFirst, sinceKept } from './records/known-since.ts'
export { checkReplayState } from './records/replay-state.ts'
export type { ReplayJournal } from './replay/journal.ts'
export { isBrokerHeader } from './copies/vocabulary.ts'
export { isTopicName, originTopicIn } from './copies/kafka.ts'
export { boundedText } from './copies/text.ts'
export { stageAfter, stageFor } from './copies/stages.ts'
export { SEQUENCES, type SequenceOptions } from './sequences/options.ts'
export { inboxSequencesOver } from './sequences/inbox.ts'
export { sequencesOver } from './sequences/store.ts'
export type { SequenceLedger, SourceKey, SourceSwap } from './ports/sequence-ledger.ts'
export { Meter, READ_STORES } from './signals/meter.ts'
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
