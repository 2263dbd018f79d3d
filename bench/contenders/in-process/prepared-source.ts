import type { Message, SourceHealth } from 'consume-once'
import type { Delivery, Intake, Source } from 'consume-once/spi'
import type { Tally } from '../../tally.ts'

export interface Pace {
  /** Deliveries of one turn of the event loop. */
  readonly atOnce: number
  /** Delivered and not settled, at most. */
  readonly inFlight: number
}

const current = (): 'current' => 'current'

/** Delivers messages that were prepared before the clock starts, so nearly all the time belongs to the consumer. */
export class PreparedSource implements Source {
  readonly system = 'memory'
  readonly group = 'bench'
  readonly boundsItself = true
  readonly #deliveries: readonly Delivery[]
  readonly #tally: Tally
  readonly #pace: Pace
  #intake: Intake | undefined
  #next = 0
  #settled = 0
  #isScheduled = false

  constructor(messages: readonly Message[], tally: Tally, pace: Pace) {
    const settle = (): boolean => this.#settle()
    this.#deliveries = messages.map((message) => ({ message, lane: undefined, standing: current, settle }))
    this.#tally = tally
    this.#pace = pace
  }

  async open(intake: Intake): Promise<void> {
    this.#intake = intake
    this.#tally.arrived()
    this.#schedule()
  }

  pause(): void {}

  resume(): void {}

  async stopIntake(): Promise<void> {}

  async close(): Promise<void> {}

  health(): SourceHealth {
    return { ready: true, detail: 'delivering' }
  }

  #settle(): boolean {
    this.#settled++
    this.#tally.ended(1)
    this.#schedule()
    return true
  }

  /** A broker's answer comes in a turn of its own. */
  #schedule(): void {
    const { atOnce, inFlight } = this.#pace
    if (this.#isScheduled || this.#next - this.#settled > inFlight - atOnce) return
    if (this.#next === this.#deliveries.length) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      const from = this.#next
      this.#next = Math.min(from + atOnce, this.#deliveries.length)
      this.#intake?.deliver(this.#deliveries.slice(from, this.#next))
      this.#schedule()
    })
  }
}
