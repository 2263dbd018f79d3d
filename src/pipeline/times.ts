import type { DurationMs, EpochMs, MonotonicMs } from '../core/units.ts'
import type { Durations } from '../ports/observer.ts'
import type { TracedSteps } from '../ports/tracing.ts'

/**
 * When the steps of a task happened. Kept only while somebody listens. A step that is repeated counts with its last
 * try: the claim that was granted, the run that ended well.
 */
export class Times {
  readonly arrivedAt: MonotonicMs
  #claimSentAt: MonotonicMs | undefined = undefined
  #claimMs: DurationMs | undefined = undefined
  #handlerMs: DurationMs | undefined = undefined
  #markSentAt: MonotonicMs | undefined = undefined
  #markMs: DurationMs | undefined = undefined
  #endingAt: MonotonicMs | undefined = undefined

  constructor(arrivedAt: MonotonicMs) {
    this.arrivedAt = arrivedAt
  }

  claimed(sentAt: MonotonicMs, answeredAt: MonotonicMs): void {
    this.#claimSentAt = sentAt
    this.#claimMs = answeredAt - sentAt
  }

  ran(startedAt: MonotonicMs, endedAt: MonotonicMs): void {
    this.#handlerMs = endedAt - startedAt
  }

  marked(sentAt: MonotonicMs, answeredAt: MonotonicMs): void {
    this.#markSentAt = sentAt
    this.#markMs = answeredAt - sentAt
  }

  get claimSentAt(): MonotonicMs | undefined {
    return this.#claimSentAt
  }

  /** @param offset - wall clock less monotonic clock */
  steps(now: MonotonicMs, offset: EpochMs): TracedSteps {
    const step = (from: MonotonicMs | undefined, ms: DurationMs | undefined): TracedSteps['claim'] =>
      from === undefined || ms === undefined ? undefined : { from: from + offset, to: from + ms + offset }
    const endingAt = this.#endingAt
    return {
      claim: step(this.#claimSentAt, this.#claimMs),
      mark: step(this.#markSentAt, this.#markMs),
      settle: endingAt === undefined ? undefined : { from: endingAt + offset, to: now + offset },
    }
  }

  /** Its ending is decided; what is left is a copy to publish and the settle. */
  ending(now: MonotonicMs): void {
    this.#endingAt = now
  }

  until(now: MonotonicMs): Durations {
    const claimSentAt = this.#claimSentAt
    return {
      waitMs: claimSentAt === undefined ? undefined : claimSentAt - this.arrivedAt,
      claimMs: this.#claimMs,
      handlerMs: this.#handlerMs,
      markMs: this.#markMs,
      settleMs: this.#endingAt === undefined ? undefined : now - this.#endingAt,
      totalMs: now - this.arrivedAt,
    }
  }
}
