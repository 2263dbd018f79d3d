import type { MemoryDemoSource } from './sources/memory.ts'

interface FaultHooks {
  /** False if the run ends in a real crash: then only that crash decides what is left in doubt. */
  readonly simulatesCrashes: boolean
  /** Simulates a crash of the process. Returns whether this was a suitable moment. */
  readonly crash: () => boolean
}

type Fault = 'redeliver' | 'rebalance' | 'crash-claimed' | 'crash-marked'

/** When each fault happens, as a share of the published messages. */
const SCHEDULE: readonly (readonly [share: number, fault: Fault])[] = [
  [0.1, 'redeliver'],
  [0.25, 'rebalance'],
  [0.4, 'crash-claimed'],
  [0.55, 'redeliver'],
  [0.7, 'crash-marked'],
  [0.85, 'redeliver'],
]

/**
 * The faults of the memory broker: redeliveries, a rebalance, and crashes between effect and settle. With a lease the
 * crashes are before the effect or after the mark, so that the demo itself never repeats an effect.
 */
export class MemoryFaults {
  readonly #source: MemoryDemoSource
  readonly #hooks: FaultHooks
  readonly #published: number
  readonly #left: (readonly [share: number, fault: Fault])[]
  readonly happened: Record<'redeliveries' | 'rebalances' | 'crashes', number> = {
    redeliveries: 0,
    rebalances: 0,
    crashes: 0,
  }
  #due: Fault | undefined

  constructor(source: MemoryDemoSource, published: number, hooks: FaultHooks) {
    this.#source = source
    this.#published = published
    this.#hooks = hooks
    this.#left = SCHEDULE.filter(([, fault]) => hooks.simulatesCrashes || !fault.startsWith('crash'))
  }

  /** `ended` deliveries have ended: the next fault may be due. */
  progress(ended: number): void {
    const [next] = this.#left
    if (this.#due !== undefined || next === undefined || ended < next[0] * this.#published) return
    this.#left.shift()
    const [, fault] = next
    if (fault === 'redeliver' || fault === 'rebalance') setImmediate(() => this.#disturb(fault))
    else this.#due = fault
  }

  /** Claims were granted, no handler has started. */
  claimed(): void {
    if (this.#due === 'crash-claimed') this.#crash()
  }

  /** Marks are durable, none of them is settled. A crash that found no suitable moment at a claim happens here. */
  marked(): void {
    if (this.#due !== undefined) this.#crash()
  }

  #disturb(fault: 'redeliver' | 'rebalance'): void {
    if (fault === 'redeliver') {
      this.#source.redeliver()
      this.happened.redeliveries++
    } else {
      this.#source.rebalance()
      this.happened.rebalances++
    }
  }

  #crash(): void {
    if (!this.#hooks.crash()) return
    this.#due = undefined
    this.happened.crashes++
  }
}
