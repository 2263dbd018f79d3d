import { LRUCache } from 'lru-cache'
import type { ClaimAnswer, ClaimItem, Clock, Digest, DurationMs, EpochMs, Key, Result } from '../../src/internal.ts'

/** `now` tells since when a message is done that this process has marked. */
export type CacheClock = Pick<Clock, 'monotonic'> & Partial<Pick<Clock, 'now'>>

interface Done {
  readonly digest: Digest
  readonly result: Result | undefined
  readonly since: EpochMs | undefined
}

interface DoneCacheParts {
  readonly max: number
  readonly ttlMs: DurationMs
  readonly clock: CacheClock
  readonly isShared?: boolean
}

/** A longer result is not cached: this is a cache of keys. */
const LONGEST_RESULT = 4_096

/**
 * The keys that this process knows to be done. It may forget a key at any time, and knows nothing that the store did
 * not say.
 */
export class DoneCache {
  readonly #ttlMs: DurationMs
  readonly #clock: CacheClock
  readonly #entries: LRUCache<Key, Done>
  /** Keys that a person has decided about lately: what others say of them may be older than the decision. */
  readonly #decided: LRUCache<Key, true> | undefined
  #decisions = 0
  /** Shared with other processes: their decisions arrive. It answers nothing while they may not. */
  #isOpen: boolean

  /** @param isShared - other processes tell it what they have marked, and of decisions; `startOver` opens it */
  constructor({ max, ttlMs, clock, isShared = false }: DoneCacheParts) {
    this.#ttlMs = ttlMs
    this.#clock = clock
    const common = {
      max,
      ttl: ttlMs,
      // lru-cache treats a time of 0 as unset.
      perf: { now: () => clock.monotonic() + 1 },
      ttlResolution: 0,
    }
    this.#entries = new LRUCache(common)
    this.#isOpen = !isShared
    if (isShared) this.#decided = new LRUCache(common)
  }

  /**
   * Number of decisions by people. An answer to a question from before a decision is not cached after it, because it
   * may be older than the decision.
   */
  get decisions(): number {
    return this.#decisions
  }

  /** By the clock of this process; `undefined`: it has none. */
  now(): EpochMs | undefined {
    return this.#clock.now?.()
  }

  /** The answer that the store would give, if it is `done`. A different digest is left to the store. */
  answer({ key, digest }: ClaimItem): Extract<ClaimAnswer, { verdict: 'done' }> | undefined {
    const done = this.#isOpen ? this.#entries.get(key) : undefined
    if (done === undefined || (digest !== done.digest && digest !== '')) return undefined
    return { verdict: 'done', result: done.result, since: done.since }
  }

  /** @param retentionMs - retention of the record; the cache keeps no key longer */
  learn(key: Key, done: Done, retentionMs: DurationMs, decisions: number): void {
    if (decisions !== this.#decisions || !this.#isOpen) return
    if (done.result !== undefined && done.result.length > LONGEST_RESULT) return
    // At the exact end of the retention the record is gone but the entry would still exist.
    this.#entries.set(key, done, { ttl: Math.max(1, Math.min(this.#ttlMs, retentionMs - 1)) })
  }

  /** Another process has marked it. */
  hear(key: Key, done: Done, retentionMs: DurationMs): void {
    if (this.#decided?.has(key) === true || this.#entries.has(key)) return
    this.learn(key, done, retentionMs, this.#decisions)
  }

  /**
   * Decisions of other processes arrive from now on, or may not. Either way some may have been missed, so nothing is
   * known any more.
   */
  startOver(isOpen: boolean): void {
    this.#decisions++
    this.#entries.clear()
    this.#isOpen = isOpen
  }

  forget(key: Key): void {
    this.#entries.delete(key)
  }

  /** A person decides about these keys. */
  decide(keys: readonly Key[]): void {
    this.#decisions++
    for (const key of keys) {
      this.#entries.delete(key)
      this.#decided?.set(key, true)
    }
  }
}
