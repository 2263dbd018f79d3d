import { indexOf } from '../../tally.ts'

export const P50 = 'p50 ms'
export const P99 = 'p99 ms'

/** The part of the messages at the start that shows a process that warms up, and a group that forms. */
const WARM_UP = 1 / 4

/** From the arrival of each message in the process to its durable mark. */
export class Delays {
  readonly #arrivedAt: Float64Array
  readonly #delays: number[] = []

  constructor(messages: number) {
    this.#arrivedAt = new Float64Array(messages)
  }

  /** Also more than once: the first time counts. */
  arrived(id: unknown): void {
    const index = indexOf(id)
    if (this.#arrivedAt[index] === 0) this.#arrivedAt[index] = performance.now()
  }

  marked(id: unknown): void {
    const index = indexOf(id)
    const arrivedAt = this.#arrivedAt[index] ?? 0
    if (arrivedAt === 0) throw new Error(`${index} is marked and has not arrived`)
    if (index >= this.#arrivedAt.length * WARM_UP) this.#delays.push(performance.now() - arrivedAt)
  }

  figures(): Readonly<Record<string, number>> {
    const sorted = Float64Array.from(this.#delays).toSorted()
    const at = (part: number): number => sorted[Math.floor((sorted.length - 1) * part)] ?? Number.NaN
    return { [P50]: at(0.5), [P99]: at(0.99) }
  }
}
