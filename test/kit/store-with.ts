import { memoryStore } from '../../src/memory/store.ts'
import type { LeaseStore, Store, StoreCalls } from '../../src/ports/store.ts'

/** A memory store with some things of the test's own. */
export function storeWith(some: (store: LeaseStore) => Partial<LeaseStore>): LeaseStore {
  const store = memoryStore()
  return { ...withCalls(store, {}), ...some(store) }
}

/** A store with some of its calls replaced, and without all that it may lack. */
export function withCalls<S extends Store<unknown>>(store: S, own: Partial<StoreCalls>): S {
  const calls: StoreCalls = store
  return {
    strategy: store.strategy,
    ...('positions' in store && { positions: store.positions }),
    open: () => calls.open(),
    claim: (request) => calls.claim(request),
    renew: (claims, leaseMs) => calls.renew(claims, leaseMs),
    mark: (claims, results) => calls.mark(claims, results),
    release: (claims, how) => calls.release(claims, how),
    setAside: (claims, as, why) => calls.setAside(claims, as, why),
    ...own,
  } satisfies StoreCalls & Pick<S, 'strategy'> as unknown as S
}
