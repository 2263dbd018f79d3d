// Exports for users of the library, as `consume-once`. Exports for authors of stores and sources are in spi.ts.

export { defineConsumer, type Consumer } from './consumer/define-consumer.ts'
export {
  adminOf,
  type Admin,
  type CountedState,
  type Decided,
  type Inspected,
  type RecordRef,
  type StateCount,
} from './people/admin.ts'
export type { Decider } from './people/decider.ts'
export { observedReport } from './people/observed-report.ts'
export type { ObservedExample, ObservedReport, ObservedVerdict } from './core/observed.ts'
export { positionsOf, type GoOnFrom, type PositionAdmin } from './people/position-admin.ts'
export { defineConfig, type ConfiguredConsumer, type ConsumeOnceConfig } from './people/config.ts'
export { doctor, type CheckVerdict, type Diagnosis, type DoctorOptions } from './people/doctor.ts'
export { liveSignals, type LiveSignals, type LiveSignalsOptions, type SnapshotQuery } from './signals/live.ts'
export type {
  LiveConsumer,
  LiveEntry,
  LiveEvent,
  LiveMeasure,
  LiveSeries,
  LiveSnapshot,
} from './signals/live-snapshot.ts'
export { runInline, type InlineOptions, type InlineRunning, type Settlement } from './run/inline.ts'
export { withLock, type HeldLock, type WithLock, type WithLockOptions } from './once/with-lock.ts'
export { tokens, type Tokens, type TokensOptions, type TokenVerdict } from './once/tokens.ts'
export { once, type Once } from './once/once.ts'
export type { OnceContext, OnceOptions, OnceReconciled } from './once/options.ts'
export { messageId, cloudEvent, standardId, type IdExtractor, type IncomingMessage } from './identity/message-id.ts'
export type { FingerprintOptions } from './identity/fingerprint.ts'
export type { WindowOptions } from './identity/id-window.ts'
export type { ConflictPolicy, IdentityOption } from './identity/identities.ts'
export type { WhenBusy } from './consumer/when-busy.ts'
export type { Skipped } from './consumer/skipped.ts'
export { signedId, type SignedIdOptions } from './identity/signed-id.ts'
export { json, type Decode, type StandardSchema } from './consumer/decode.ts'
export type {
  BatchContext,
  BatchItem,
  ConsumerOptions,
  ConsumerSettings,
  HandlerContext,
  Handling,
  Reconciled,
  SealResult,
} from './consumer/options.ts'
export type { Pausable, PauseOptions, Running, Starting, StartResult, StopOptions } from './ports/lifecycle.ts'
export type { Health, LifecycleState } from './ports/health.ts'
export {
  ERROR_CODES,
  BrokerError,
  ConfigError,
  ConsumeOnceError,
  InvariantError,
  LeaseLostError,
  NoEffectError,
  OnceError,
  OutcomeUnknownError,
  RememberedFailureError,
  ReplayError,
  StoppedError,
  StoreError,
  TerminalError,
  TransactionError,
  hasCode,
  isConsumeOnceError,
  type ErrorCode,
} from './foundation/errors.ts'
export { RetryLaterError, type RetryLaterOptions } from './foundation/retry-later.ts'
export type { LimitOptions } from './consumer/limit.ts'
export type { FormerNames } from './consumer/former-names.ts'
export type { SharedLimit, SharedPermits, SharedQuota } from './ports/shared-limit.ts'
export type { SequenceOptions } from './sequences/options.ts'
export type { SourceSequenceOptions } from './identity/source-sequence.ts'
export type { DecideVerdict, Key, Reason, RecordView } from './core/record.ts'
export type { RedeliveryFacts, RedeliveryWindow, RetentionAdvice } from './core/retention.ts'
export { suggestRetention } from './consumer/suggest-retention.ts'
export type { DurationMs, EpochMs } from './core/units.ts'
export type { Backoff } from './core/backoff.ts'
export type { BeyondRetentionPolicy, DeadLetterReason, InDoubtPolicy } from './core/after-claim.ts'
export type { CheckFinding } from './ports/checkup.ts'
export type { Subscription } from './ports/subscription.ts'
export type { Logger } from './ports/logger.ts'
export type { Message } from './ports/message.ts'
export type { Migrations, MigrationStatus } from './ports/migrations.ts'
export type { Durations, FailureTold, Observer, ObserverEvent, StoreOperation } from './ports/observer.ts'
export { outboxOf } from './people/outbox-of.ts'
export type {
  KafkaOutgoing,
  Outbox,
  OutboxBacklog,
  OutboxRefused,
  OutgoingMessage,
  RabbitOutgoing,
  RelayEvent,
} from './ports/outbox.ts'
export type { HandedBack, Outcome } from './ports/outcome.ts'
export type { PartitionHealth, SourceEvent, SourceHealth } from './ports/source.ts'
export type { Store } from './ports/store.ts'
export type { Tracing } from './ports/tracing.ts'
