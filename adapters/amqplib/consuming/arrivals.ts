import type { Delivery } from '../../../src/internal.ts'

const MOST_AT_ONCE = 256

/**
 * Gathers the deliveries of one turn of the event loop and hands them over together, so that one claim serves many.
 * While it is paused or shut, deliveries stay here unacked; the prefetch limits their number.
 */
export class Arrivals<D extends Delivery = Delivery> {
  readonly #deliver: (deliveries: readonly D[]) => void
  #gate: 'open' | 'paused' | 'shut'
  #held: D[] = []
  #isScheduled = false

  constructor(deliver: (deliveries: readonly D[]) => void, isPaused: boolean) {
    this.#deliver = deliver
    this.#gate = isPaused ? 'paused' : 'open'
  }

  add(delivery: D): void {
    this.#held.push(delivery)
    this.#schedule()
  }

  pause(): void {
    if (this.#gate === 'open') this.#gate = 'paused'
  }

  resume(): void {
    if (this.#gate !== 'paused') return
    this.#gate = 'open'
    this.#schedule()
  }

  /** Hands nothing over from now on. */
  shut(): void {
    this.#gate = 'shut'
  }

  /** Takes the deliveries that were not handed over. */
  takeHeld(): D[] {
    return this.#held.splice(0)
  }

  #schedule(): void {
    if (this.#isScheduled || this.#gate !== 'open' || this.#held.length === 0) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      if (this.#gate === 'open') this.#deliver(this.#held.splice(0, MOST_AT_ONCE))
      this.#schedule()
    })
  }
}
