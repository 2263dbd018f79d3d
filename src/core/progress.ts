import type { DurationMs, MonotonicMs } from './units.ts'

/** A message under way, or messages that the broker has and nobody fetches. */
export interface Work {
  /** Its partition (`topic/3`) or its queue. */
  readonly place: string
  /** The same object at each look. */
  readonly item: object
  /** Known starts of its handler, or the offset that is fetched next: another number is progress. */
  readonly step: number | bigint
  /** For people. */
  readonly position: string
}

/** A place with work in which nothing has moved. */
export interface Stall {
  readonly place: string
  /** Messages of the place that are under way; 1 if none is, and the broker has some that nobody fetches. */
  readonly count: number
  /** The position of the one that has been under way longest. */
  readonly oldest: string
  readonly forMs: DurationMs
}

interface Seen {
  readonly since: MonotonicMs
  readonly steps: ReadonlyMap<object, Work['step']>
  readonly oldest: string
}

/**
 * Finds partitions and queues that have work in which nobody makes progress: since the look before, no message of it has
 * ended and no handler of it has started. A busy place hides no other, because each is judged alone. It is asked now and
 * then, so a message costs nothing.
 */
export class Progress {
  readonly #stalledAfterMs: DurationMs
  #places: ReadonlyMap<string, Seen> = new Map()
  #stalls: readonly Stall[] = []

  constructor(stalledAfterMs: DurationMs) {
    this.#stalledAfterMs = stalledAfterMs
  }

  /** As found at the last look. */
  get stalls(): readonly Stall[] {
    return this.#stalls
  }

  look(work: Iterable<Work>, now: MonotonicMs): readonly Stall[] {
    const before = this.#places
    const places = new Map<string, { since: MonotonicMs; steps: Map<object, Work['step']>; oldest: string }>()
    for (const { place, item, step, position } of work) {
      let seen = places.get(place)
      if (seen === undefined) {
        seen = { since: now, steps: new Map(), oldest: position }
        places.set(place, seen)
      }
      seen.steps.set(item, step)
    }
    for (const [place, seen] of places) {
      const earlier = before.get(place)
      if (earlier !== undefined && !hasMoved(earlier, seen)) seen.since = earlier.since
    }
    this.#places = places
    this.#stalls = [...places].flatMap(([place, { since, steps, oldest }]) => {
      const forMs = now - since
      return forMs < this.#stalledAfterMs ? [] : [{ place, count: steps.size, oldest, forMs }]
    })
    return this.#stalls
  }

  /**
   * Nobody could make progress until now, for a reason that is known. A place that was stalled before stays so: its
   * cause is not known to be gone.
   */
  excuse(now: MonotonicMs): void {
    const stalled = new Set(this.#stalls.map(({ place }) => place))
    this.#places = new Map(
      [...this.#places].map(([place, seen]) => [place, stalled.has(place) ? seen : { ...seen, since: now }]),
    )
  }
}

function hasMoved(before: Seen, now: Seen): boolean {
  for (const [item, step] of before.steps) if (now.steps.get(item) !== step) return true
  return false
}
