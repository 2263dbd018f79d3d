import {
  clockOption,
  ELSEWHERE,
  having,
  millis,
  needed,
  or,
  readOptions,
  refuse,
  whole,
  type Clock,
  type DoneChannel,
  type DurationMs,
  type Store,
  type Table,
  nowCalled,
} from '../../src/internal.ts'
import { CachedStore } from './cached-store.ts'
import { DoneCache } from './done-cache.ts'
import { SharedDone } from './shared-done.ts'

export interface DoneCacheOptions {
  /**
   * The most keys to remember; the least recently used key is dropped first. A key takes about 300 bytes, plus up to 4
   * KiB of a kept result.
   */
  readonly maxKeys: number
  /**
   * How long a key is remembered as done without asking the store, in milliseconds. A `forget` of another process takes
   * that long to have an effect here: until then a delivery of the message is settled as a duplicate. After a `forget`,
   * wait that long before you send the message again.
   * @defaultValue 60000
   */
  readonly ttlMs?: DurationMs
  /**
   * Shares what is done with the caches of other processes: `redisDoneChannel` of `consume-once/redis` and
   * `consume-once/redis`, `postgresDoneChannel` of `consume-once/pg`. A message that one process has marked is a
   * duplicate in all of them without a round trip, and a decision through the `admin` of one takes effect in all at once.
   * While the channel is lost, the cache answers nothing; when it is back, it begins empty. A connection that is dead
   * without either side knowing loses decisions, which then take `ttlMs`.
   * @defaultValue each process knows only what it has marked and asked itself
   */
  readonly share?: DoneChannel
  /**
   * `now` tells since when a message is done that this process has marked itself. Without it, such a duplicate does not
   * say it.
   * @defaultValue the system clock
   */
  readonly clock?: Pick<Clock, 'monotonic'> & Partial<Pick<Clock, 'now'>>
}

const DONE_CACHE: Table<DoneCacheOptions, 'share'> = {
  maxKeys: needed(whole({ most: 2 ** 24 })),
  ttlMs: or(60_000, millis()),
  share: having('a channel, such as redisDoneChannel({ redis, subscriber })', 'subscribe'),
  clock: clockOption(),
  [ELSEWHERE]: { max: nowCalled('maxKeys') },
}

/**
 * Puts a bounded cache in front of a store. A redelivery of a message that is done is answered without a round trip,
 * even while the store is down. The cache learns only from durable marks and from `done` answers of the store, and
 * answers nothing but `done`. Everything else, including a known ID with another payload, goes to the store. It notices
 * `forget`, `reopen` and `resolve` through the `admin` of this store at once.
 *
 * A message stays done in the cache for up to `ttlMs` after the store has lost its record.
 *
 * @throws ConfigError `CONFIG_INVALID`, also for a store of strategy `offsets`, which has no keys
 */
export function withDoneCache<Tx = never>(store: Store<Tx>, options: DoneCacheOptions): Store<Tx> {
  const problems: string[] = []
  const { maxKeys, ttlMs, share, clock } = readOptions(DONE_CACHE, options, { name: '', problems })
  if (typeof store?.claim !== 'function') problems.push('store: expected a store such as redisLease({ redis })')
  else if (store.strategy === 'offsets') {
    problems.push(
      'store: expected one of strategy lease or inbox, got offsets: it stores positions and has no keys to cache',
    )
  }
  refuse('withDoneCache', problems)
  const cache = new DoneCache({ max: maxKeys, ttlMs, clock, isShared: share !== undefined })
  return new CachedStore(store, cache, share && new SharedDone(cache, share)) as Store<Tx>
}
