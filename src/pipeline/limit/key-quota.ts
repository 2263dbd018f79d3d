import { freeAt, FULL, returned, taken, wanted, type Bucket, type Quota } from '../../core/quota.ts'
import type { MonotonicMs } from '../../core/units.ts'

/** The permits of one key, or of all keys together. */
export interface KeyQuota {
  /** Tasks and lanes that wait for a permit of it. */
  waiting: number
  /** When the next permit is free, if it is; `Infinity`: when somebody says so. */
  freeAt(now: MonotonicMs): MonotonicMs
  take(now: MonotonicMs): void
  /** A permit was taken and not used. */
  giveBack(): void
  /** Somebody begins to wait. */
  wanted(now: MonotonicMs): void
  /** A provider asked to wait. Does not shorten an earlier time. */
  holdBack(now: MonotonicMs, until: MonotonicMs): void
  readonly heldUntil: MonotonicMs
  /** It is as a new one. */
  isAsNew(now: MonotonicMs): boolean
}

/** Of this process alone. */
export class OwnQuota implements KeyQuota {
  waiting = 0
  readonly #quota: Quota
  #bucket: Bucket = FULL
  #heldUntil: MonotonicMs = 0

  constructor(quota: Quota) {
    this.#quota = quota
  }

  get heldUntil(): MonotonicMs {
    return this.#heldUntil
  }

  freeAt(): MonotonicMs {
    return Math.max(this.#heldUntil, freeAt(this.#bucket, this.#quota))
  }

  take(now: MonotonicMs): void {
    this.#bucket = taken(this.#bucket, now, this.#quota)
  }

  giveBack(): void {
    this.#bucket = returned(this.#bucket, this.#quota)
  }

  wanted(now: MonotonicMs): void {
    this.#bucket = wanted(this.#bucket, now)
  }

  holdBack(_now: MonotonicMs, until: MonotonicMs): void {
    this.#heldUntil = Math.max(this.#heldUntil, until)
    // What was due before is not made up for in one go.
    this.#bucket = wanted(this.#bucket, this.#heldUntil)
  }

  isAsNew(now: MonotonicMs): boolean {
    return this.waiting === 0 && this.#bucket <= now && this.#heldUntil <= now
  }
}
