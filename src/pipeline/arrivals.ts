import type { Clock } from '../ports/clock.ts'
import type { Delivery } from '../ports/source.ts'
import type { Decoding } from './handling/decoding.ts'
import type { Traces } from './handling/traces.ts'
import type { Hold } from './hold.ts'
import { Task } from './task.ts'
import { Fifo } from './intake/fifo.ts'
import { NotYet, type DecodedPayload, type Identify, type Unidentified } from './intake/identify.ts'
import { Slices } from './intake/slices.ts'

interface ArrivalsServices {
  readonly clock: Clock
  readonly decoding: Decoding
  readonly hold: Hold
  readonly traces: Traces | undefined
  readonly isDraining: boolean
}

interface Hooks {
  readonly identify: Identify
  /** What to do with a delivery as it was identified: a task, or a dead letter. */
  readonly identified: (delivery: Delivery, found: Task | Unidentified) => Task | Unidentified
  /** Nothing more may be looked at now. */
  readonly isEnough: () => boolean
  readonly begin: (task: Task, delivery: Delivery) => void
  readonly drop: (task: Task) => void
  readonly handBack: (delivery: Delivery) => void
  readonly deadLetter: (delivery: Delivery, why: Unidentified) => void
}

interface Identifying {
  readonly delivery: Delivery
  /** Set while it waits before it is decoded again. */
  cancel: (() => void) | undefined
}

/**
 * Deliveries that were taken from the source, until they are tasks, and what is to be handed back: a few at a time, so
 * that no turn of the event loop is long.
 */
export class Arrivals {
  readonly #services: ArrivalsServices
  readonly #hooks: Hooks
  /** Not yet identified. */
  readonly #waiting = new Fifo<Delivery>()
  /** Tasks and deliveries to hand back, from the lanes or not yet identified. */
  readonly #leaving = new Fifo<Iterator<Task | Delivery>>()
  readonly #slices: Slices
  /** The delivery whose ID lies in a payload that is not decoded yet. Those behind it wait, so that their order stays. */
  #identifying: Identifying | undefined
  /** It has no usable ID, and may not end now. */
  #unusable: { readonly delivery: Delivery; readonly why: Unidentified } | undefined

  constructor(services: ArrivalsServices, hooks: Hooks) {
    this.#services = services
    this.#hooks = hooks
    this.#slices = new Slices(services.clock, () => this.#handBackNext() || this.#acceptNext())
  }

  /** This turn bears no more of them. */
  get isTurnOver(): boolean {
    return this.#slices.isTurnOver
  }

  /** How many are not looked at. */
  get waiting(): number {
    return this.#waiting.length
  }

  /** Some may be looked at now. */
  get areAny(): boolean {
    if (this.#identifying !== undefined) return true
    return this.#waiting.length > 0 && this.#unusable === undefined && !this.#hooks.isEnough()
  }

  add(deliveries: readonly Delivery[]): void {
    for (const delivery of deliveries) this.#waiting.push(delivery)
    this.#slices.run()
  }

  /** It had joined a task that is over. */
  addAgain(delivery: Delivery): void {
    this.#waiting.push(delivery)
    this.#slices.later()
  }

  /** There may be work again. */
  goOn(): void {
    this.#slices.later()
  }

  handBack(leaving: Iterator<Task | Delivery>): void {
    this.#leaving.push(leaving)
    this.#slices.run()
  }

  /** The standing of deliveries has changed. */
  standingChanged(): void {
    if (this.#identifying !== undefined && this.#identifying.delivery.standing() !== 'current')
      this.#handBackIdentifying()
  }

  /** All of them are handed back. */
  drain(): void {
    this.#handBackIdentifying()
    this.handBack(this.#waiting.remove(() => true).values())
  }

  /** Hands back what is left, at once. */
  leave(): void {
    while (this.#handBackNext());
    for (const delivery of this.#waiting.remove(() => true)) this.#hooks.handBack(delivery)
  }

  #handBackNext(): boolean {
    const first = this.#leaving.first
    if (first === undefined) return false
    const { value: next, done = false } = first.next()
    if (done) this.#leaving.shift()
    else if (next instanceof Task) this.#hooks.drop(next)
    else this.#hooks.handBack(next)
    return true
  }

  /**
   * Accepts nothing while tasks are being handed back: a copy could join one of them and be handed back with it, or run
   * before earlier messages.
   */
  #acceptNext(): boolean {
    if (this.#identifying !== undefined || !this.#isRidOfUnusable()) return false
    const next = this.#hooks.isEnough() ? undefined : this.#waiting.shift()
    if (next === undefined) {
      this.#services.hold.looked()
      return false
    }
    if (next.standing() === 'current') this.#accept(next)
    else this.#hooks.handBack(next)
    return true
  }

  /** `false`: a delivery without a usable ID may not end now, and those behind it wait. */
  #isRidOfUnusable(): boolean {
    const unusable = this.#unusable
    if (unusable === undefined) return true
    const { hold } = this.#services
    const { delivery, why } = unusable
    const isCurrent = delivery.standing() === 'current'
    if (isCurrent && !hold.admitsUnidentified) {
      hold.looked()
      return false
    }
    this.#unusable = undefined
    if (!isCurrent) this.#handBackUnidentified(delivery)
    else {
      hold.failed(why, delivery.message)
      this.#hooks.deadLetter(delivery, why)
    }
    return true
  }

  #accept(delivery: Delivery): void {
    const found = this.#hooks.identify(delivery)
    if (found instanceof NotYet) void this.#acceptLater(delivery, found)
    else this.#take(delivery, found)
  }

  /** Its ID lies in its payload, and that is decoded later. */
  async #acceptLater(delivery: Delivery, { payload }: NotYet): Promise<void> {
    const identifying: Identifying = { delivery, cancel: undefined }
    this.#identifying = identifying
    const { decoding, clock } = this.#services
    const decoded = await decoding.awaited(payload)
    if (this.#identifying !== identifying) return
    if (decoded.is === 'unanswered') {
      const delayMs = decoding.failed(delivery, delivery.message, decoded.error)
      identifying.cancel = clock.after(delayMs, () => this.#goOnWith(delivery))
    } else {
      decoding.done(delivery)
      this.#goOnWith(delivery, decoded.is === 'refused' ? decoded.why : decoded)
    }
  }

  #goOnWith(delivery: Delivery, decoded?: DecodedPayload | Unidentified): void {
    this.#identifying = undefined
    if (delivery.standing() !== 'current') this.#handBackUnidentified(delivery)
    else if (decoded === undefined) this.#accept(delivery)
    else if ('reason' in decoded) this.#take(delivery, decoded)
    else this.#take(delivery, this.#hooks.identify(delivery, decoded))
    this.#slices.run()
  }

  #handBackIdentifying(): void {
    const unusable = this.#unusable
    this.#unusable = undefined
    if (unusable !== undefined) this.#handBackUnidentified(unusable.delivery)
    const identifying = this.#identifying
    if (identifying === undefined) return
    this.#identifying = undefined
    identifying.cancel?.()
    this.#handBackUnidentified(identifying.delivery)
  }

  #handBackUnidentified(delivery: Delivery): void {
    this.#services.decoding.done(delivery)
    this.#hooks.handBack(delivery)
  }

  #take(delivery: Delivery, found: ReturnType<Identify>): void {
    // With its payload no extractor has to wait.
    if (found instanceof NotYet) throw new TypeError('a payload that was decoded is not (arrivals.take)')
    const identified = this.#hooks.identified(delivery, found) // mutant: ack-first
    if (identified instanceof Task) {
      identified.arrival = this.#slices.turn
      this.#services.traces?.arrived(identified)
      this.#hooks.begin(identified, delivery)
    } else if (this.#services.isDraining) this.#hooks.handBack(delivery)
    else {
      this.#unusable = { delivery, why: identified }
      this.#isRidOfUnusable()
    }
  }
}
