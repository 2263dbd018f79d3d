import { LRUCache } from 'lru-cache'
import type { ClaimAnswer, ClaimItem, Clock, Digest, DurationMs, Key, Result } from '../../src/index.ts'

interface Done {
  readonly digest: Digest
  readonly result: Result | undefined
}

/** A longer result is left to the store: this is a cache of keys. */
const LONGEST_RESULT = 4_096

/** What this process knows to be done. It forgets at any time, and never knows more than the store did. */
export class DoneCache {
  readonly #ttlMs: DurationMs
  readonly #entries: LRUCache<Key, Done>
  #decisions = 0

  constructor({ max, ttlMs, clock }: { max: number; ttlMs: DurationMs; clock: Pick<Clock, 'monotonic'> }) {
    this.#ttlMs = ttlMs
    this.#entries = new LRUCache({
      max,
      ttl: ttlMs,
      // lru-cache takes a time of 0 for none.
      perf: { now: () => clock.monotonic() + 1 },
      ttlResolution: 0,
    })
  }

  /**
   * Grows with each decision of a person about a record: what was asked before one is not learnt after it. An answer that was
   * under way meanwhile may be older than the decision.
   */
  get decisions(): number {
    return this.#decisions
  }

  /** The same answer that the store would give, if it is one: a digest that differs is for the store to judge. */
  answer({ key, digest }: ClaimItem): Extract<ClaimAnswer, { verdict: 'done' }> | undefined {
    const done = this.#entries.get(key)
    if (done === undefined || (digest !== done.digest && digest !== '')) return undefined
    return { verdict: 'done', result: done.result }
  }

  /** @param retentionMs - of the record: none is known to be done for longer than that */
  learn(key: Key, done: Done, retentionMs: DurationMs, decisions: number): void {
    if (decisions !== this.#decisions) return
    if (done.result !== undefined && done.result.length > LONGEST_RESULT) return
    // At the end itself the record is gone, the entry still there.
    this.#entries.set(key, done, { ttl: Math.max(1, Math.min(this.#ttlMs, retentionMs - 1)) })
  }

  forget(key: Key): void {
    this.#entries.delete(key)
  }

  /** A person decides about these. */
  decide(keys: readonly Key[]): void {
    this.#decisions++
    for (const key of keys) this.#entries.delete(key)
  }
}
