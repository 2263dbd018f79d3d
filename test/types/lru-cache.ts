import { defineConsumer, type Store } from 'consume-once'
import { memoryStore } from 'consume-once/memory'
import { withDoneCache } from 'consume-once/lru-cache'

interface Tx {
  query(text: string): Promise<void>
}
declare const inbox: Store<Tx>

export const consumers: readonly unknown[] = [
  // It is the store that it stands in front of: with a transaction, or with a fence.
  defineConsumer({
    name: 'a',
    store: withDoneCache(inbox, { maxKeys: 100_000 }),
    handle: async ({ tx }) => tx.query('select 1'),
  }),
  defineConsumer({
    name: 'a',
    store: withDoneCache(memoryStore(), { maxKeys: 100_000, ttlMs: 5_000 }),
    handle: ({ fence }) => fence.toFixed(),
  }),
  // @ts-expect-error a lease has no transaction, cached neither
  defineConsumer({ name: 'a', store: withDoneCache(memoryStore(), { maxKeys: 1 }), handle: ({ tx }) => tx }),

  // @ts-expect-error a cache has a bound
  withDoneCache(memoryStore(), {}),
]
