import { backoffMs, type Backoff } from '../core/backoff.ts'
import type { DurationMs, MonotonicMs } from '../core/units.ts'
import type { Clock } from '../ports/clock.ts'
import type { Entropy } from '../ports/entropy.ts'
import type { OutgoingSystem } from '../ports/outbox.ts'

const SYSTEMS: readonly OutgoingSystem[] = ['kafka', 'rabbitmq']

/** Rows of one transaction. */
const MOST = 500
/** Of a broker that did not answer, so that few rows are touched while it is down. */
const MOST_TO_ASK = 20
/** More unanswered messages at once of one broker are not tried. */
const MOST_UNANSWERED = 5_000
/** A broker that is back is found out within the last of these. */
export const ASK_AGAIN: Backoff = { initialMs: 1_000, maxMs: 5_000 }
/** Nobody else asks while one asks. */
const ASKED_FOR_MS = 5_000

interface Silence {
  readonly times: number
  readonly until: MonotonicMs
}

/** Which brokers answer. Those that do not are asked again by a few rows, and hold up nothing of the others. */
export class Brokers {
  readonly #clock: Clock
  readonly #entropy: Pick<Entropy, 'fraction'>
  readonly #silent = new Map<OutgoingSystem, Silence>()
  readonly #unanswered = new Map<OutgoingSystem, number>()

  constructor(clock: Clock, entropy: Pick<Entropy, 'fraction'>) {
    this.#clock = clock
    this.#entropy = entropy
  }

  /** What to take now; nothing, if no broker may be asked. */
  next(): { readonly systems: readonly OutgoingSystem[]; readonly most: number } {
    const now = this.#clock.monotonic()
    const open = SYSTEMS.filter((system) => (this.#unanswered.get(system) ?? 0) < MOST_UNANSWERED)
    const asked = open.find((system) => (this.#silent.get(system)?.until ?? Infinity) <= now)
    if (asked !== undefined) {
      this.#silent.set(asked, { times: this.#silent.get(asked)?.times ?? 0, until: now + ASKED_FOR_MS })
      return { systems: [asked], most: MOST_TO_ASK }
    }
    return { systems: open.filter((system) => !this.#silent.has(system)), most: MOST }
  }

  /** For one more look before a stop. */
  get all(): { readonly systems: readonly OutgoingSystem[]; readonly most: number } {
    return { systems: SYSTEMS, most: MOST }
  }

  /** Until one is asked again. */
  get waitMs(): DurationMs | undefined {
    const times = [...this.#silent.values()].map(({ until }) => until)
    return times.length === 0 ? undefined : Math.max(0, Math.min(...times) - this.#clock.monotonic())
  }

  /** Returns whether it was silent before. */
  answered(system: OutgoingSystem): boolean {
    return this.#silent.delete(system)
  }

  /** Returns when it is asked again. */
  silent(system: OutgoingSystem): DurationMs {
    const times = (this.#silent.get(system)?.times ?? 0) + 1
    const waitMs = backoffMs(times, ASK_AGAIN, this.#entropy.fraction())
    this.#silent.set(system, { times, until: this.#clock.monotonic() + waitMs })
    return waitMs
  }

  countUnanswered(system: OutgoingSystem, change: 1 | -1): void {
    this.#unanswered.set(system, (this.#unanswered.get(system) ?? 0) + change)
  }
}
