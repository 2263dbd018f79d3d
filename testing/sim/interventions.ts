import type { HistoryEvent, Subject } from '../history.ts'
import { Lives, type Point, type Reached } from './lives.ts'

/**
 * A fault that a person adds to those of the seed. `freeze`: for longer than the lease. `cut`: the broker closes the
 * connection of the worker. `repeat`: the producer sends a message again.
 */
export interface Intervention {
  readonly kind: 'kill' | 'freeze' | 'cut' | 'rebalance' | 'repeat'
  readonly when: When
  /**
   * A worker; for `repeat` the subject of a message. Without a worker, or if that one is not up: the worker of the event.
   */
  readonly on?: string | undefined
}

/** Right after an event of a message, or after everything else of a millisecond. */
export type When =
  | { readonly subject: Subject; readonly point: Point; readonly nth: number }
  | { readonly atMs: number }

/** Points that a consumer does not have, and those that come in their place: one without a store marks nothing. */
export type Instead = Partial<Readonly<Record<Point, Point>>>

/** Waits for the moments of interventions, and says how each went. */
export class Interventions {
  /** For each intervention the index of its first event. `undefined`: its moment did not come, or nothing was there to do. */
  readonly begun: (number | undefined)[]
  readonly #waiting: Map<number, Intervention>
  readonly #instead: Instead
  readonly #lives = new Lives()
  readonly #act: (intervention: Intervention, worker: string | undefined) => void

  constructor(
    interventions: readonly Intervention[],
    instead: Instead,
    act: (intervention: Intervention, worker: string | undefined) => void,
  ) {
    this.begun = interventions.map(() => undefined)
    this.#waiting = new Map(interventions.entries())
    this.#instead = instead
    this.#act = act
  }

  /** To be called with each event, when it is the last of its history. */
  see(event: HistoryEvent, events: readonly HistoryEvent[]): void {
    if (this.#waiting.size === 0) return
    for (const reached of this.#lives.see(event)) {
      for (const [index, intervention] of this.#waiting) {
        if (this.#isTime(intervention, reached)) this.begin(index, events, reached.worker)
      }
    }
  }

  begin(index: number, events: readonly HistoryEvent[], worker?: string): void {
    const intervention = this.#waiting.get(index)
    if (intervention === undefined) return
    this.#waiting.delete(index)
    const first = events.length
    this.#act(intervention, worker)
    if (events.length > first) this.begun[index] = first
  }

  #isTime({ when }: Intervention, { subject, point, nth }: Reached): boolean {
    if ('atMs' in when) return false
    return when.subject === subject && (this.#instead[when.point] ?? when.point) === point && when.nth === nth
  }
}
