// Stores and a broker in the memory of the process, for tests, demos and first steps, as `consume-once/memory`.

export { memoryStore, type MemoryStoreOptions } from './store.ts'
export { memorySequences, type MemorySequencesOptions } from './sequences.ts'
export { MemoryBroker, type MemoryBrokerOptions, type MemoryMessage } from './broker.ts'
export { memoryReplay } from './replay.ts'
export { runMemory, type RunMemoryOptions } from './run.ts'
