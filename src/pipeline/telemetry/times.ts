import type { DurationMs, EpochMs, MonotonicMs } from '../../core/units.ts'
import type { Durations, StepDurations } from '../../ports/observer.ts'
import type { TracedSteps } from '../../ports/tracing.ts'

/** A call of the store, shared by the tasks of its batch. */
export interface Step {
  readonly from: MonotonicMs
  readonly ms: DurationMs
}

/**
 * When the steps of a task happened. Kept only while somebody listens. A step that is repeated counts with its last
 * try: the claim that was granted, the run that ended well.
 */
export class Times implements StepDurations {
  readonly arrivedAt: MonotonicMs
  /** The call that claimed it. */
  claim: Step | undefined = undefined
  /** The call that marked it. */
  mark: Step | undefined = undefined
  handlerMs: DurationMs | undefined = undefined
  #endingAt: MonotonicMs | undefined = undefined

  constructor(arrivedAt: MonotonicMs) {
    this.arrivedAt = arrivedAt
  }

  /** @param offset - wall clock less monotonic clock */
  steps(now: MonotonicMs, offset: EpochMs): TracedSteps {
    const step = (taken: Step | undefined): TracedSteps['claim'] =>
      taken && { from: taken.from + offset, to: taken.from + taken.ms + offset }
    const endingAt = this.#endingAt
    return {
      claim: step(this.claim),
      mark: step(this.mark),
      settle: endingAt === undefined ? undefined : { from: endingAt + offset, to: now + offset },
    }
  }

  /** Its ending is decided; what is left is a copy to publish and the settle. */
  ending(now: MonotonicMs): void {
    this.#endingAt = now
  }

  get waitMs(): DurationMs | undefined {
    return this.claim && this.claim.from - this.arrivedAt
  }

  get claimMs(): DurationMs | undefined {
    return this.claim?.ms
  }

  get markMs(): DurationMs | undefined {
    return this.mark?.ms
  }

  settleMs(now: MonotonicMs): DurationMs | undefined {
    return this.#endingAt === undefined ? undefined : now - this.#endingAt
  }

  until(now: MonotonicMs): Durations {
    const { waitMs, claimMs, handlerMs, markMs, arrivedAt } = this
    return { waitMs, claimMs, handlerMs, markMs, settleMs: this.settleMs(now), totalMs: now - arrivedAt }
  }
}
