import type { EpochMs } from '../core/units.ts'

/** Steps that are kept for a part. Beyond it neighbours are merged, to the earlier time. */
const MOST_STEPS = 512

/** Messages at positions below `before` arrived at `at` or later. */
export interface ArrivalStep {
  readonly before: string
  readonly at: EpochMs
}

/**
 * When the messages of one part of a log arrived, at the earliest. A producer sets the timestamp, and its clock may be wrong, but a
 * message arrived before those behind it: the smallest timestamp at its position or later is taken. So a clock that is ahead
 * proves nothing, and one that is behind makes messages look older than they are, which is safe.
 *
 * Positions are noted in ascending order; memory is bounded.
 */
export class Arrivals {
  /** Ascending in both; a step counts from the one before up to its own position. */
  #steps: { before: bigint; at: EpochMs }[] = []

  note(position: bigint, at: EpochMs): void {
    const steps = this.#steps
    while (steps.length > 0 && (steps.at(-1)?.at ?? 0) >= at) steps.pop()
    steps.push({ before: position + 1n, at })
    if (steps.length > MOST_STEPS) this.#steps = merged(steps)
  }

  toJSON(): readonly ArrivalStep[] {
    return this.#steps.map(({ before, at }) => ({ before: String(before), at }))
  }
}

/** Halves the number of steps. The last one stays as it is. */
function merged(steps: readonly { before: bigint; at: EpochMs }[]): { before: bigint; at: EpochMs }[] {
  return steps.flatMap((step, index) => {
    if (index % 2 === 0) return index === steps.length - 1 ? [step] : []
    return [{ before: step.before, at: steps[index - 1]?.at ?? step.at }]
  })
}

/** Looks up positions in the steps of a plan. */
export class KnownArrivals {
  readonly #steps: readonly { readonly before: bigint; readonly at: EpochMs }[]

  constructor(steps: readonly ArrivalStep[]) {
    this.#steps = steps.map(({ before, at }) => ({ before: BigInt(before), at }))
  }

  /** `undefined`: not known. */
  notBefore(position: bigint): EpochMs | undefined {
    let [low, high] = [0, this.#steps.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#steps[middle]?.before ?? 0n) > position) high = middle
      else low = middle + 1
    }
    return this.#steps[low]?.at
  }
}
