import type { HistoryEvent } from '../../testing/history.ts'
import { Signal } from '../../test/kit/signal.ts'
import { trueMs } from '../kit/true-time.ts'

type Untimed<Event> = Event extends unknown ? Omit<Event, 'at' | 'proc'> : never

/** Records what the proxies and workers of one cell report while it runs. `gather` adds what the servers hold at the end. */
export class Recorder extends Signal {
  readonly #events: HistoryEvent[] = []

  record(proc: string, event: Untimed<HistoryEvent>, at: number = trueMs()): void {
    this.#events.push({ at, proc, ...event })
    this.notify()
  }

  /** In the order of true time. */
  get events(): readonly HistoryEvent[] {
    return this.#events.toSorted((a, b) => a.at - b.at)
  }

  has(isIt: (event: HistoryEvent) => boolean): boolean {
    return this.#events.some(isIt)
  }

  /** Every place has been acked since it was delivered last. */
  areAcked(places: readonly string[]): boolean {
    return places.every((place) => {
      const last = this.#events.findLast((event) => 'place' in event && event.place === place && isOnWire(event.f))
      return last?.f === 'ack'
    })
  }
}

function isOnWire(f: HistoryEvent['f']): boolean {
  return f === 'deliver' || f === 'ack'
}
