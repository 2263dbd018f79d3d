import type { Store } from '../../../src/ports/store.ts'

/** For laws that use keys only: each key of a store of strategy `offsets` is a stream of one message. */
export function keysAsStreams<Tx>(store: Store<Tx>): Store<Tx> {
  if (store.strategy !== 'offsets') return store
  return {
    strategy: store.strategy,
    positions: store.positions,
    open: () => store.open(),
    claim: (request) =>
      store.claim({
        ...request,
        items: request.items.map((item) => ({ position: { stream: item.key, offset: 0n }, ...item })),
      }),
    renew: (claims, leaseMs) => store.renew(claims, leaseMs),
    mark: (claims, results) => store.mark(claims, results),
    ...(store.admin === undefined ? {} : { admin: store.admin }),
    release: (claims, how) => store.release(claims, how),
    setAside: (claims, as, why) => store.setAside(claims, as, why),
  }
}
