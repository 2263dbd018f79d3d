export { testConsumer, type TestConsumerOptions, type TestReport } from './handler/test-consumer.ts'
export { testMessage, type TestMessage } from './handler/test-message.ts'
export type { Collected } from './handler/effects.ts'
export type { TxCall } from './handler/tx-call.ts'
export type { Scenario } from './handler/scenarios.ts'
export type { End, EventOf, History, HistoryEvent, Place, Subject } from './history.ts'
export { ADMITTED, type Anomaly, type Promised } from './checker/anomaly.ts'
export { InboxDatabase, type InboxRow } from './stores/inbox-database.ts'
export { MemoryInbox, type MemoryInboxOptions } from './stores/memory-inbox.ts'
export { MemoryOffsets, type MemoryOffsetsOptions } from './stores/memory-offsets.ts'
export { MemoryOutbox, type Published } from './stores/memory-outbox.ts'
export { type LendAs, type MemoryTx } from './stores/memory-transaction.ts'
export { OffsetsDatabase, type OffsetsRow } from './stores/offsets-database.ts'
export { check, type Verdict } from './checker/check.ts'
export type { Counterexample } from './checker/counterexample.ts'
export type { Rules } from './checker/rules.ts'
export { MEANING } from './checker/meaning.ts'
export { explain } from './checker/explain.ts'
export { fromLines, toLines } from './history-lines.ts'
export { type Law, type Runner } from './contract/law.ts'
export { assertSourceLaw, describeSourceContract, type SourceUnderContract } from './contract/source/contract.ts'
export { type Driven, eventually } from './contract/source/driven.ts'
export {
  type FoundDeadLetter,
  type SourceCapability,
  type SourceHarness,
  type SourceLaw,
} from './contract/source/harness.ts'
export { sourceLaws } from './contract/source/laws.ts'
export { SCOPE as CONTRACT_SCOPE } from './contract/store/claims.ts'
export { assertStoreLaw, describeStoreContract, storeLaws, type StoreUnderContract } from './contract/store/contract.ts'
export {
  type Capability,
  type InboxHarness,
  type LeaseHarness,
  type OffsetsHarness,
  type StoreHarness,
  type StoreLaw,
} from './contract/store/harness.ts'
export { simulate, simulateAll, type Simulated } from './sim/simulate.ts'
export type { SimulatedContext, SimulatedHandler } from './sim/handler.ts'
export type { Plan } from './sim/plan.ts'
export type { SimulationOptions } from './sim/simulation.ts'
