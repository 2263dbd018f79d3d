import { memoryStore } from 'consume-once/memory'
import type { Job, Measurement } from '../../suite.ts'
import type { LoadBroker } from './broker.ts'
import { withStore, type Settings } from './consume-once.ts'
import type { Handle } from '../handlers.ts'

/** The library on a store in memory: what it costs by itself. */
export function libraryInMemory(
  broker: LoadBroker,
  handle: Handle,
  settings: Settings = {},
): (job: Job) => Promise<Measurement> {
  return (job) => withStore(broker, memoryStore(), handle, settings)(job)
}
