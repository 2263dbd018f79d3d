import type { Store } from '../../../src/ports/store.ts'

/** Wraps a store of strategy `offsets` for laws that use keys only: each key is a stream of one message. */
export function keysAsStreams<Tx>(store: Store<Tx>): Store<Tx> {
  return {
    strategy: store.strategy,
    ...(store.positions === undefined ? {} : { positions: store.positions }),
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
