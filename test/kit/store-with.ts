import { memoryStore } from '../../src/memory/store.ts'
import type { Store } from '../../src/ports/store.ts'

/** A memory store with some things of the test's own. */
export function storeWith(some: (store: Store) => Partial<Store>): Store {
  const store = memoryStore()
  return {
    strategy: store.strategy,
    open: () => store.open(),
    claim: (request) => store.claim(request),
    renew: (claims, leaseMs) => store.renew(claims, leaseMs),
    mark: (claims, results) => store.mark(claims, results),
    release: (claims, how) => store.release(claims, how),
    setAside: (claims, as, why) => store.setAside(claims, as, why),
    ...some(store),
  }
}
