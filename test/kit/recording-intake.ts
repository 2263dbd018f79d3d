import type { ObserverEvent, SourceEvent } from '../../src/index.ts'
import type { Capacity, Delivery, Intake } from '../../src/internal.ts'
import { Signal } from './signal.ts'

/** A pipeline that only writes down what it gets; deliveries are settled by the test, or by `onDeliver`. */
export class RecordingIntake extends Signal implements Intake {
  readonly deliveries: Delivery[] = []
  readonly batches: (readonly Delivery[])[] = []
  readonly events: SourceEvent[] = []
  onDeliver: (delivery: Delivery) => void = () => {}
  capacity: Capacity = {
    maxInFlight: Number.MAX_SAFE_INTEGER,
    handlers: 1,
    claims: 1,
    leaseMs: 30_000,
    longestRunMs: 65_000,
    maxAttempts: 5,
  }
  standingChanges = 0

  /** Settles each delivery as it comes. */
  static settling(): RecordingIntake {
    const intake = new RecordingIntake()
    intake.onDeliver = (delivery) => delivery.settle()
    return intake
  }

  get settled(): number {
    return this.events.reduce((sum, event) => sum + (event.type === 'settles' ? event.count : 0), 0)
  }

  get positions(): readonly string[] {
    return this.deliveries.map(({ message }) => message.position)
  }

  deliver(deliveries: readonly Delivery[]): void {
    this.deliveries.push(...deliveries)
    this.batches.push(deliveries)
    for (const delivery of deliveries) this.onDeliver(delivery)
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

  /** The details of each event of the source with this name. */
  told(name: string): readonly string[] {
    return this.events.flatMap((event) => (event.type === 'source' && event.event === name ? [event.detail ?? ''] : []))
  }

  untilDelivered(count: number): Promise<void> {
    return this.until(() => this.deliveries.length >= count)
  }

  untilTold(name: string, times = 1): Promise<void> {
    return this.until(() => this.told(name).length >= times)
  }

  untilSettled(count: number): Promise<void> {
    return this.until(() => this.settled >= count)
  }

  /** The newest delivery of a position. */
  at(position: string): Delivery {
    const found = this.deliveries.findLast(({ message }) => message.position === position)
    if (found === undefined) throw new Error(`nothing delivered at ${position}, only at ${this.positions.join(' ')}`)
    return found
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

  /** How many deliveries ended with this outcome. */
  ended(outcome: string): number {
    return this.outcomes()[outcome] ?? 0
  }

  told(name: string): number {
    return this.events.filter((event) => event.type === name || (event.type === 'source' && event.event === name))
      .length
  }

  untilTold(name: string, times = 1): Promise<void> {
    return this.until(() => this.told(name) >= times)
  }

  untilOutcomes(outcome: string, times: number): Promise<void> {
    return this.until(() => this.ended(outcome) >= times)
  }
}
