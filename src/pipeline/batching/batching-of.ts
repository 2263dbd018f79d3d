import type { Services } from '../services.ts'
import { Batching } from './batching.ts'
import { InboxBatching } from './inbox-batching.ts'
import { LeaseBatching } from './lease-batching.ts'
import { ObserveBatching } from './observe-batching.ts'

/** The batching for the strategy of the store, or for mode `observe`. */
export function batchingOf(services: Services, scope: string): Batching {
  const { store, mode } = services.consumer
  return new Batching(services, (batching) => {
    if (mode === 'observe') return new ObserveBatching(services, scope, batching)
    return store.strategy === 'lease'
      ? new LeaseBatching(services, store, batching)
      : new InboxBatching(services, batching)
  })
}
