export { defineConsumer, type Consumer } from './define-consumer.ts'
export {
  adminOf,
  type Admin,
  type CountedState,
  type Decided,
  type Inspected,
  type RecordRef,
  type StateCount,
} from './admin.ts'
export type { Decider } from './decider.ts'
export { positionsOf, type GoOnFrom, type PositionAdmin } from './position-admin.ts'
export { defineConfig, type ConfiguredConsumer, type ConsumeOnceConfig } from './config.ts'
export { doctor, type CheckVerdict, type Diagnosis, type DoctorOptions } from './doctor.ts'
export { durationText } from './duration-text.ts'
export { runConsumer, type RunDependencies } from './run.ts'
export { runInline, type InlineDelivery, type InlineOptions, type InlineRunning, type Settlement } from './inline.ts'
export { messageId, cloudEvent, standardId, type IdExtractor, type IncomingMessage } from './message-id.ts'
export { signedId, type SignedIdOptions } from './signed-id.ts'
export { json, type Decode, type StandardSchema } from './decode.ts'
export type {
  BatchContext,
  BatchItem,
  ConsumerOptions,
  ConsumerSettings,
  HandlerContext,
  Handling,
  Reconciled,
  SealResult,
} from './options.ts'
export { DEFAULTS } from './defaults.ts'
export {
  checkFunction,
  checkNames,
  checkOneOf,
  checkText,
  checkObject,
  checkWhole,
  givenOf,
  isPlainText,
  withoutUndefined,
  type Show,
} from './option-checks.ts'
export type { Health, LifecycleState, Running, Starting, StopOptions } from './lifecycle.ts'
export {
  ERROR_CODES,
  BrokerError,
  ConfigError,
  ConsumeOnceError,
  InvariantError,
  LeaseLostError,
  NoEffectError,
  OutcomeUnknownError,
  StoppedError,
  StoreError,
  TerminalError,
  TransactionError,
  describeError,
  errorClass,
  hasCode,
  isConsumeOnceError,
  type ErrorCode,
} from './errors.ts'
export { memoryStore, type MemoryStoreOptions } from './memory/store.ts'
export { MemoryBroker, type MemoryBrokerOptions, type MemoryMessage } from './memory/broker.ts'
export { runMemory, type RunMemoryOptions } from './memory/run.ts'
export { systemClock } from './clock.ts'
export { systemEntropy } from './entropy.ts'

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
  refundStarts,
  type CountedAttempts,
  type PositionRecord,
  type StoredPosition,
  type StreamClaim,
  type StreamItem,
  type StreamVerdict,
} from './core/position.ts'
export { failureOf, isFailure, readResult, resultOf, type Remembered, type RememberedFailure } from './core/result.ts'
export { type RedeliveryFacts, type RedeliveryWindow, type RetentionAdvice } from './core/retention.ts'
export { suggestRetention } from './suggest-retention.ts'
export type { DurationMs, EpochMs, MonotonicMs } from './core/units.ts'
export { Losses } from './core/losses.ts'
export { backoffMs, type Backoff } from './core/backoff.ts'
export { Watermark } from './core/watermark.ts'
export { isFull, type Load } from './core/backpressure.ts'
export {
  decideBatch,
  decideControlBatch,
  expectedAtJoin,
  type BatchDecision,
  type Expected,
  type Finding,
  type LogBounds,
} from './core/expected-offset.ts'
export type { BeyondRetentionPolicy, DeadLetterReason, InDoubtPolicy } from './core/decision.ts'

export { findScopeRow, formerScope, isSharedBy, mayBeAnothers, type ScopeRow, type ScopeStep } from './scope.ts'
export type { CheckFinding, Checkup } from './ports/checkup.ts'
export type { Clock } from './ports/clock.ts'
export type { CheckedConsumer, ConsumedFrom } from './ports/consumed-from.ts'
export type { Entropy } from './ports/entropy.ts'
export type { Logger } from './ports/logger.ts'
export type { Message } from './ports/message.ts'
export type { Migrations, MigrationStatus } from './ports/migrations.ts'
export type { HandedBack, Observer, ObserverEvent, Outcome } from './ports/observer.ts'
export type {
  Capacity,
  DeadLetter,
  Delivery,
  Intake,
  Letter,
  PartitionHealth,
  Publisher,
  RetryLetter,
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
  HeldAt,
  HoldRelease,
  HoldVerdict,
  LentTransaction,
  ListedPosition,
  OpenTransaction,
  Positions,
  ReleaseOptions,
  SetAsideOptions,
  Store,
  Strategy,
} from './ports/store.ts'
export type {
  ListedState,
  ListQuery,
  Purged,
  Purging,
  RecordPage,
  Resolution,
  StoreAdmin,
  Why,
} from './ports/store-admin.ts'
