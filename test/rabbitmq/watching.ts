import type { ObserverEvent, SourceEvent } from '../../src/index.ts'
import type { Capacity, Delivery, Intake } from '../../src/spi.ts'
import { Signal } from '../kit/signal.ts'

/** Stays shut until the test opens it. */
export class Gate {
  readonly opened: Promise<void>
  #open: (() => void) | undefined

  constructor() {
    this.opened = new Promise((resolve) => {
      this.#open = resolve
    })
  }

  open(): void {
    this.#open?.()
  }
}

/** A pipeline that only writes down what it gets. */
export class RecordingIntake extends Signal implements Intake {
  readonly batches: (readonly Delivery[])[] = []
  readonly events: SourceEvent[] = []
  onDeliver: (deliveries: readonly Delivery[]) => void = () => {}
  capacity: Capacity = {
    maxInFlight: Number.MAX_SAFE_INTEGER,
    handlers: 1,
    claims: 1,
    leaseMs: 30_000,
    longestRunMs: 65_000,
  }
  standingChanges = 0

  get deliveries(): readonly Delivery[] {
    return this.batches.flat()
  }

  get settled(): number {
    return this.events.reduce((sum, event) => sum + (event.type === 'settles' ? event.count : 0), 0)
  }

  deliver(deliveries: readonly Delivery[]): void {
    this.batches.push(deliveries)
    this.onDeliver(deliveries)
    this.notify()
  }

  standingChanged(): void {
    this.standingChanges++
    this.notify()
  }

  report(event: SourceEvent): void {
    this.events.push(event)
    this.notify()
  }

  /** How often the source told this event. */
  told(name: string): number {
    return this.events.filter((event) => event.type === 'source' && event.event === name).length
  }

  untilDelivered(count: number): Promise<void> {
    return this.until(() => this.deliveries.length >= count)
  }

  untilTold(name: string, times = 1): Promise<void> {
    return this.until(() => this.told(name) >= times)
  }
}

/** An observer of a consumer, to wait on. */
export class Watching extends Signal {
  readonly events: ObserverEvent[] = []
  readonly observe = (event: ObserverEvent): void => {
    this.events.push(event)
    this.notify()
  }

  outcomes(): Record<string, number> {
    const counts: Record<string, number> = {}
    for (const event of this.events) {
      if (event.type === 'delivery') counts[event.outcome] = (counts[event.outcome] ?? 0) + 1
    }
    return counts
  }

  told(name: string): number {
    return this.events.filter((event) => event.type === name || (event.type === 'source' && event.event === name))
      .length
  }

  untilTold(name: string, times = 1): Promise<void> {
    return this.until(() => this.told(name) >= times)
  }

  untilOutcomes(outcome: string, times: number): Promise<void> {
    return this.until(() => (this.outcomes()[outcome] ?? 0) >= times)
  }
}

export function bodies(count: number, prefix = 'm'): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index}`)
}

export function textOf(delivery: Delivery): string {
  return Buffer.from(delivery.message.value ?? []).toString()
}
