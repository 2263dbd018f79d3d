import {
  ConfigError,
  checkNames,
  checkWhole,
  givenOf,
  systemClock,
  type Clock,
  type DurationMs,
  type Store,
} from '../../src/index.ts'
import { CachedStore } from './cached-store.ts'
import { DoneCache } from './done-cache.ts'

export interface DoneCacheOptions {
  /** Keys at most; the least recently met goes first. Some 300 bytes each, and up to 4 KiB of a result that is kept. */
  readonly max: number
  /**
   * How long a key is known to be done without asking again. So long, too, a `forget` of another process is not noticed here: a
   * delivery that comes meanwhile is still settled as duplicate. Wait for it before a message that was forgotten is sent again.
   * @defaultValue 60000
   */
  readonly ttlMs?: DurationMs
  /** @defaultValue the system's */
  readonly clock?: Pick<Clock, 'monotonic'>
}

const DEFAULT_TTL_MS: DurationMs = 60_000

const KNOWN: Record<keyof DoneCacheOptions, true> = { max: true, ttlMs: true, clock: true }

/**
 * Puts a bounded memory of this process in front of a store: a redelivery of what is done is answered without a round trip, also while the store
 * is down. It is told by marks that are durable and by the store's own `done`, and says nothing else than that: whatever it does
 * not know, an ID with another payload included, is asked of the store. `forget`, `reopen` and `resolve` through `admin` of this store are noticed at once.
 *
 * What is done stays so here for up to `ttlMs` after the store has lost its record.
 *
 * @throws ConfigError `CONFIG_INVALID`, also for a store of strategy `offsets`: it has no keys
 */
export function withDoneCache<Tx>(store: Store<Tx>, options: DoneCacheOptions): Store<Tx> {
  const given = givenOf(options)
  const { max, ttlMs = DEFAULT_TTL_MS, clock = systemClock } = given
  const problems: string[] = []
  checkNames('', given, { known: KNOWN }, problems)
  checkWhole('max', max, problems, { most: 2 ** 24 })
  checkWhole('ttlMs', ttlMs, problems)
  if (typeof store?.claim !== 'function') problems.push('store: expected a store such as redisLease({ redis })')
  else if (store.strategy === 'offsets') {
    problems.push(
      'store: expected one of strategy lease or inbox, got offsets: it is told by positions, and has no keys to remember',
    )
  }
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `withDoneCache: ${problem}`))
  return new CachedStore(store, new DoneCache({ max, ttlMs, clock }))
}
