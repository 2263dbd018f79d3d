import type { Quota } from '../../core/quota.ts'
import type { DurationMs, MonotonicMs } from '../../core/units.ts'
import { OwnQuota, type KeyQuota } from './key-quota.ts'
import type { SharedLine } from './shared-line.ts'

/** Permits are asked for in portions of so much time, so that a message costs no round trip. */
const PORTION_MS: DurationMs = 100
/** Permits that nobody needed for so long are dropped: they were of an earlier window. */
const KEPT_FOR_MS: DurationMs = 1_000

/**
 *   idle ── ask ──> asking ── answered ──> idle | refused until a time
 */
type Asking =
  | { readonly is: 'idle' }
  | { readonly is: 'asking' }
  | { readonly is: 'refused'; readonly until: MonotonicMs }

const IDLE: Asking = { is: 'idle' }
const ASKING: Asking = { is: 'asking' }

/**
 * Of several processes: permits come from the shared limiter, a portion at a time, and are spent as fast as the quota
 * alone would allow, so that no process uses up a window in one burst.
 */
export class SharedKeyQuota implements KeyQuota {
  readonly #own: OwnQuota
  readonly #key: string
  readonly #portion: number
  readonly #line: SharedLine
  /** It may be free now. */
  readonly #onMoved: () => void
  #reserve = 0
  #reservedAt: MonotonicMs = 0
  #asking: Asking = IDLE
  /** The other processes know that it is held back until then. */
  #toldUntil: MonotonicMs = 0

  constructor(quota: Quota, key: string, line: SharedLine, onMoved: () => void) {
    this.#own = new OwnQuota(quota)
    this.#key = key
    this.#portion = Math.max(1, Math.ceil((quota.perSecond * PORTION_MS) / 1_000))
    this.#line = line
    this.#onMoved = onMoved
  }

  get waiting(): number {
    return this.#own.waiting
  }

  set waiting(count: number) {
    this.#own.waiting = count
  }

  get heldUntil(): MonotonicMs {
    return this.#own.heldUntil
  }

  /** Asks the shared limiter if somebody waits and nothing is reserved. */
  freeAt(now: MonotonicMs): MonotonicMs {
    const free = this.#own.freeAt()
    if (this.#reserve > 0 && now - this.#reservedAt > KEPT_FOR_MS) this.#reserve = 0
    if (free > now || this.#reserve > 0) return free
    if (this.#asking.is === 'refused') {
      if (this.#asking.until > now) return this.#asking.until
      this.#asking = IDLE
    }
    if (this.#asking.is === 'idle' && this.waiting > 0) void this.#ask()
    return Number.POSITIVE_INFINITY
  }

  take(now: MonotonicMs): void {
    this.#reserve--
    this.#own.take(now)
  }

  giveBack(): void {
    this.#reserve++
    this.#own.giveBack()
  }

  wanted(now: MonotonicMs): void {
    this.#own.wanted(now)
  }

  holdBack(now: MonotonicMs, until: MonotonicMs): void {
    this.#own.holdBack(now, until)
    this.#reserve = 0
    if (until - this.#toldUntil < PORTION_MS) return
    this.#toldUntil = until
    this.#line.holdBack(this.#key, until - now)
  }

  isAsNew(now: MonotonicMs): boolean {
    return this.#own.isAsNew(now) && this.#asking.is === 'idle'
  }

  async #ask(): Promise<void> {
    this.#asking = ASKING
    const count = Math.min(this.#portion, this.waiting)
    const { granted, retryAfterMs, at } = await this.#line.take(this.#key, count)
    this.#reserve += granted
    this.#reservedAt = at
    this.#asking = granted < count ? { is: 'refused', until: at + retryAfterMs } : IDLE
    this.#onMoved()
  }
}
