// Exports for authors of stores and sources, as `consume-once/spi` (docs/source.md, docs/testing.md): the ports, the
// pure protocol, and what speaks the formats that all stores and sources share. test/package/spi.test.ts lists them: a
// name that goes, or changes, is a breaking change.

// Stores
export type {
  Claim,
  ClaimAnswer,
  ClaimItem,
  ClaimRequest,
  HeldAt,
  HoldRelease,
  HoldVerdict,
  IdleLimit,
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
export { viewOf } from './core/record.ts'
export { transition } from './core/transition.ts'
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
} from './core/record.ts'
export type { Transition } from './core/transition.ts'
export { claimStream, nextAfter } from './core/position.ts'
export type { PositionRecord, StoredPosition, StreamClaim, StreamItem, StreamVerdict } from './core/position.ts'
export type { CheckFinding, Checkup } from './ports/checkup.ts'
export type { DoneChannel, DoneEars } from './ports/done-channel.ts'

// Sources
export { runConsumer, type RunDependencies } from './run/run.ts'
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
export type { BrokerSystem, Message } from './ports/message.ts'
export type { CheckedConsumer, Subscription } from './ports/subscription.ts'
export type { RedeliveryWindow } from './core/retention.ts'
export { Watermark } from './core/watermark.ts'

// Copies of messages, and replays
export { COPY_HEADER, describesCopy, type CopyHeader } from './copies/vocabulary.ts'
export { copyFlag, copyNumber, copyText, copyTime, deadLetterIn, headerText } from './copies/values.ts'
export { copyHeaders, redrivenHeaders } from './copies/text.ts'
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

// Both
export {
  BrokerError,
  ConfigError,
  InvariantError,
  ReplayError,
  StoppedError,
  StoreError,
  TransactionError,
  describeError,
  hasCode,
} from './foundation/errors.ts'
export type { DurationMs, EpochMs, MonotonicMs } from './core/units.ts'
export type { Clock } from './ports/clock.ts'
export type { Entropy } from './ports/entropy.ts'
export { systemClock } from './foundation/clock.ts'
export { systemEntropy } from './foundation/entropy.ts'
