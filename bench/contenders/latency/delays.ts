import { indexOf } from '../../tally.ts'
import type { Measurement } from '../../suite.ts'

export const P50 = 'p50 ms'
export const P99 = 'p99 ms'
/** From the call of the producer, what waits at the broker included. */
export const P50_SENT = 'p50 ms from send'
export const P99_SENT = 'p99 ms from send'

/** Milliseconds since 1970, to the microsecond: processes of one machine share this clock. */
export const wallNow = (): number => performance.timeOrigin + performance.now()

/** When messages were sent: the first ID of each tick, and the time. */
export type Sent = readonly (readonly [id: number, at: number])[]

/** From the arrival of each message in the process, and from its send, to its durable mark. */
export class Delays {
  readonly #arrivedAt: Float64Array
  readonly #markedAt: Float64Array
  readonly #warmUp: number
  #measuredFrom: number | undefined
  #cpuFrom: NodeJS.CpuUsage | undefined
  #lastAt = 0
  #cpu: NodeJS.CpuUsage = { user: 0, system: 0 }
  #left: number

  /** The first `warmUp` of `messages` are sent as fast as the others and not measured. */
  constructor(messages: number, warmUp: number) {
    this.#arrivedAt = new Float64Array(messages)
    this.#markedAt = new Float64Array(messages)
    this.#warmUp = warmUp
    this.#left = messages - warmUp
  }

  /** Also more than once: the first time counts. */
  arrived(id: unknown): void {
    const index = indexOf(id)
    if (this.#arrivedAt[index] !== 0) return
    this.#arrivedAt[index] = wallNow()
    if (index < this.#warmUp || this.#measuredFrom !== undefined) return
    this.#measuredFrom = wallNow()
    this.#cpuFrom = process.cpuUsage()
  }

  marked(id: unknown): void {
    const index = indexOf(id)
    if (this.#arrivedAt[index] === 0) throw new Error(`${index} is marked and has not arrived`)
    this.#markedAt[index] = wallNow()
    if (index < this.#warmUp || --this.#left > 0) return
    this.#lastAt = wallNow()
    this.#cpu = process.cpuUsage(this.#cpuFrom)
  }

  /** Of what came after the warm-up. */
  measurement(sent: Sent): Measurement {
    if (this.#lastAt === 0) throw new Error(`${this.#left} messages are not marked`)
    const { user, system } = this.#cpu
    const sentAt = new Float64Array(this.#markedAt.length)
    for (const [at, [from, time]] of sent.entries()) sentAt.fill(time, from, sent[at + 1]?.[0])
    return {
      messages: this.#markedAt.length - this.#warmUp,
      tookMs: this.#lastAt - (this.#measuredFrom ?? 0),
      cpuMs: (user + system) / 1_000,
      figures: {
        ...this.#quantiles(this.#arrivedAt, P50, P99),
        ...this.#quantiles(sentAt, P50_SENT, P99_SENT),
      },
    }
  }

  #quantiles(from: Float64Array, p50: string, p99: string): Readonly<Record<string, number>> {
    const sorted = this.#markedAt
      .map((marked, index) => marked - (from[index] ?? 0))
      .slice(this.#warmUp)
      .toSorted()
    const at = (part: number): number => sorted[Math.floor((sorted.length - 1) * part)] ?? Number.NaN
    return { [p50]: at(0.5), [p99]: at(0.99) }
  }
}
