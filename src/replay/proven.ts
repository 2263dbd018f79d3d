import type { EpochMs } from '../core/units.ts'
import type { ReplayItem } from '../ports/replay.ts'
import { KnownArrivals } from './arrivals.ts'
import type { ReplayPlan } from './plan.ts'

/** A clock that is ahead of ours by more than this is wrong. */
const CLOCK_MARGIN_MS = 60_000

/** Later than every usable timestamp: nothing is proven. */
export function afterAll(now: EpochMs): EpochMs {
  return now + CLOCK_MARGIN_MS + 1
}

/** The timestamp of a message, unless it lies in the future, which proves that its clock is wrong. */
export function usableTime(
  { timestamp }: { readonly timestamp: EpochMs | undefined },
  now: EpochMs,
): EpochMs | undefined {
  return timestamp === undefined || timestamp <= 0 || timestamp > now + CLOCK_MARGIN_MS ? undefined : timestamp
}

/** Whether absence of a record proves that a message was not handled, by the arrivals that the plan noted. */
export class Proof {
  readonly #parts = new Map<string, KnownArrivals>()

  constructor({ arrivals }: Pick<ReplayPlan, 'arrivals'>) {
    for (const [part, steps] of Object.entries(arrivals)) this.#parts.set(part, new KnownArrivals(steps))
  }

  isProven(item: ReplayItem, horizon: EpochMs, now: EpochMs): boolean {
    const own = usableTime(item, now)
    const noted = item.timestampOf === 'producer' ? this.#parts.get(item.part) : undefined
    const at = noted === undefined ? own : noted.notBefore(BigInt(item.position))
    return own !== undefined && at !== undefined && at >= horizon
  }
}
