import type { DurationMs, EpochMs } from '../core/units.ts'
import type { Outcome } from '../ports/outcome.ts'
import { Histogram } from './histogram.ts'
import type { LiveMeasure, LiveSeries } from './live-snapshot.ts'

const STEP_MS = 10_000
const STEPS = 360

interface Step {
  readonly at: EpochMs
  readonly outcomes: Map<Outcome, number>
  attemptsFailed: number
  readonly handler: Histogram
  readonly endToEnd: Histogram
}

/** What happened in each 10 s of the last hour. Steps without an event take no memory. */
export class Steps {
  readonly #ring: (Step | undefined)[] = Array.from({ length: STEPS })

  at(now: EpochMs): Step {
    const at = beginOf(now)
    const place = (at / STEP_MS) % STEPS
    const known = this.#ring[place]
    if (known?.at === at) return known
    const made = {
      at,
      outcomes: new Map<Outcome, number>(),
      attemptsFailed: 0,
      handler: new Histogram(),
      endToEnd: new Histogram(),
    }
    this.#ring[place] = made
    return made
  }

  /** @param since - when events were first counted: no step begins before */
  toJSON(now: EpochMs, since: EpochMs): LiveSeries {
    const last = beginOf(now)
    const first = Math.max(beginOf(since), last - (STEPS - 1) * STEP_MS)
    const count = Math.max(1, (last - first) / STEP_MS + 1)
    const begins = Array.from({ length: count }, (_, at) => last - (count - 1 - at) * STEP_MS)
    const steps = begins.map((at) => this.#stepAt(at))
    const happened = new Set(steps.flatMap((step) => [...(step?.outcomes.keys() ?? [])]))
    const outcomes = [...happened].map((name) => [name, steps.map((step) => step?.outcomes.get(name) ?? 0)] as const)
    return {
      stepMs: STEP_MS,
      at: begins,
      outcomes: Object.fromEntries(outcomes),
      attemptsFailed: steps.map((step) => step?.attemptsFailed ?? 0),
      handlerP50Ms: steps.map((step) => step?.handler.quantile(0.5) ?? null),
      handlerP99Ms: steps.map((step) => step?.handler.quantile(0.99) ?? null),
      endToEndP99Ms: steps.map((step) => step?.endToEnd.quantile(0.99) ?? null),
    }
  }

  #stepAt(at: EpochMs): Step | undefined {
    const step = this.#ring[(at / STEP_MS) % STEPS]
    return step?.at === at ? step : undefined
  }
}

function beginOf(at: EpochMs): EpochMs {
  return Math.floor(at / STEP_MS) * STEP_MS
}

const HALF_MS = 300_000

/** The values of the last 5 to 10 minutes. */
export class RecentMeasure {
  #begunAt: EpochMs = 0
  #now = new Histogram()
  #before = new Histogram()

  add(ms: DurationMs, now: EpochMs): void {
    this.#turn(now)
    this.#now.add(ms)
  }

  toJSON(now: EpochMs): LiveMeasure {
    this.#turn(now)
    const both = new Histogram()
    both.merge(this.#now)
    both.merge(this.#before)
    return both.toJSON()
  }

  #turn(now: EpochMs): void {
    const passed = now - this.#begunAt
    // A clock that was set back begins anew.
    if (passed >= 0 && passed < HALF_MS) return
    this.#before = passed >= 0 && passed < 2 * HALF_MS ? this.#now : new Histogram()
    this.#now = new Histogram()
    this.#begunAt = now
  }
}
