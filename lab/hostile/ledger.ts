import type { Message, ObserverEvent } from '../../src/index.ts'
import { Signal } from '../../test/kit/signal.ts'
import type { Numbers } from './plan.ts'

/** How a delivery ended. */
export interface Ending {
  readonly outcome: string
  readonly reason: string | undefined
}

/** After these a message comes again. */
const NOT_YET: ReadonlySet<string> = new Set(['failed', 'handed-back', 'settle-refused', 'lease-lost'])

/** Observed actions of a consumer, by message number. */
export class Ledger extends Signal {
  readonly #numbers: Numbers
  #endings = new Map<number, Ending[]>()
  #effects = new Map<number, number>()
  #ended = 0
  /** Values that reached a handler, or an end, otherwise than they were sent. */
  readonly unknown: string[] = []

  constructor(numbers: Numbers) {
    super()
    this.#numbers = numbers
  }

  get ended(): number {
    return this.#ended
  }

  endingsOf(number: number): readonly Ending[] {
    return this.#endings.get(number) ?? []
  }

  effectsOf(number: number): number {
    return this.#effects.get(number) ?? 0
  }

  numberOf({ headers, value, position }: Message): number {
    const number = this.#numbers.of(headers, value)
    if (number === undefined) this.unknown.push(position)
    return number ?? -1
  }

  effect(number: number): void {
    this.#effects.set(number, this.effectsOf(number) + 1)
  }

  readonly observe = (event: ObserverEvent): void => {
    if (event.type !== 'delivery' || NOT_YET.has(event.outcome)) return
    const number = this.numberOf(event.message)
    this.#endings.set(number, [...this.endingsOf(number), { outcome: event.outcome, reason: event.reason }])
    this.#ended++
    this.notify()
  }

  /** Starts a new chapter, and resets all counts. */
  turnPage(): void {
    this.#endings = new Map()
    this.#effects = new Map()
    this.#ended = 0
  }
}
