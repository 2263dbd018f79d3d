import type { DurationMs, EpochMs, MonotonicMs } from '../core/units.ts'
import type { Durations, StepDurations } from '../ports/observer.ts'
import type { TracedSteps } from '../ports/tracing.ts'

/** A point in time that many tasks share. */
export interface Moment {
  readonly at: MonotonicMs
}

/** A call of the store, shared by the tasks of its batch. */
export interface Step {
  readonly from: MonotonicMs
  readonly ms: DurationMs
}

const NOT_YET: Moment = { at: 0 }

/**
 * When the steps of a task happened, mostly pointers to what its batch shares. A step that is repeated counts with its
 * last try: the claim that was granted, the run that ended well. Nothing here may lead to other tasks: what is in the
 * old generation of V8 keeps all that it leads to from being collected with the young.
 */
export class Times implements StepDurations {
  /** The turn of the event loop in which the pipeline took it. */
  arrival: Moment = NOT_YET
  claimCall: Step | undefined = undefined
  markCall: Step | undefined = undefined
  /** Known while somebody listens. */
  handlerMs: DurationMs | undefined = undefined
  /** When its ending was decided; what is left is a copy to publish and the settle. */
  decision: Moment | undefined = undefined

  /** @param offset - wall clock less monotonic clock */
  steps(now: MonotonicMs, offset: EpochMs): TracedSteps {
    const step = (taken: Step | undefined): TracedSteps['claim'] =>
      taken && { from: taken.from + offset, to: taken.from + taken.ms + offset }
    const { claimCall, markCall, decision } = this
    return {
      claim: step(claimCall),
      mark: step(markCall),
      settle: decision && { from: decision.at + offset, to: now + offset },
    }
  }

  get waitMs(): DurationMs | undefined {
    return this.claimCall && this.claimCall.from - this.arrival.at
  }

  get claimMs(): DurationMs | undefined {
    return this.claimCall?.ms
  }

  get markMs(): DurationMs | undefined {
    return this.markCall?.ms
  }

  settleMs(now: MonotonicMs): DurationMs | undefined {
    return this.decision && now - this.decision.at
  }

  until(now: MonotonicMs): Durations {
    const { waitMs, claimMs, handlerMs, markMs, arrival } = this
    return { waitMs, claimMs, handlerMs, markMs, settleMs: this.settleMs(now), totalMs: now - arrival.at }
  }
}
