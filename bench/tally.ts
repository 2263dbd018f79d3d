import { eachOnce, timesDelivered, withDuplicates } from './places/duplicates.ts'
import type { Job, Measurement } from './suite.ts'

/** Holds the ID of a message: a number, in ASCII. */
export const ID_HEADER = 'message-id'

/** Counts what a contender did and takes the time. Costs all contenders the same. */
export class Tally {
  /** Resolves when every delivery has ended. */
  readonly complete: Promise<void>
  readonly #messages: number
  readonly #expected: Uint8Array
  readonly #starts: Uint8Array
  #startedAt: number | undefined
  #cpuAtStart: NodeJS.CpuUsage | undefined
  #took: Pick<Measurement, 'tookMs' | 'cpuMs'> | undefined
  #ended = 0
  #onComplete: () => void = () => {}

  /** `once`: a handler must run for each ID, once. `each-delivery`: as often as it is delivered, without any deduplication. */
  constructor({ messages, ids }: Pick<Job, 'messages' | 'ids'>, handled: 'once' | 'each-delivery' = 'once') {
    this.#messages = messages
    this.#starts = new Uint8Array(ids)
    const holdsDuplicates = handled === 'each-delivery' && ids < messages
    this.#expected = holdsDuplicates ? timesDelivered(withDuplicates(messages)) : timesDelivered(eachOnce(ids))
    this.complete = new Promise((resolve) => {
      this.#onComplete = resolve
    })
  }

  /** To be called for each message, or at least for the first, before anything is done with it. */
  arrived(): void {
    if (this.#startedAt !== undefined) return
    this.#startedAt = performance.now()
    this.#cpuAtStart = process.cpuUsage()
  }

  /** A handler starts. */
  started(id: unknown): void {
    const index = indexOf(id)
    const starts = this.#starts[index]
    if (starts === undefined) throw new Error(`a message that nobody sent: ${String(id)}`)
    this.#starts[index] = starts + 1
  }

  /** Number of finished deliveries, as the contender counts them: returned, marked, committed, or already done. */
  ended(count: number): void {
    this.#ended += count
    if (this.#ended < this.#messages || this.#took !== undefined) return
    const { user, system } = process.cpuUsage(this.#cpuAtStart)
    this.#took = { tookMs: performance.now() - (this.#startedAt ?? 0), cpuMs: (user + system) / 1_000 }
    this.#onComplete()
  }

  /** @throws unless each message was handled as often as it was to be, and every delivery has ended */
  measurement(): Measurement {
    let missing = 0
    let repeated = 0
    for (const [id, expected] of this.#expected.entries()) {
      const starts = this.#starts[id] ?? 0
      missing += Math.max(0, expected - starts)
      repeated += Math.max(0, starts - expected)
    }
    if (missing > 0 || repeated > 0 || this.#ended !== this.#messages) {
      const counts = `${missing} handler runs missing, ${repeated} too many, ${this.#ended} ended`
      throw new Error(`of ${this.#messages} deliveries of ${this.#starts.length} messages: ${counts}`)
    }
    if (this.#took === undefined) throw new Error('measured before it was complete')
    return { messages: this.#messages, ...this.#took }
  }
}

/** The number that is the ID of a message: bytes of a Kafka header, or text of an AMQP property. */
export function indexOf(id: unknown): number {
  if (typeof id === 'string') return Number(id)
  if (!Buffer.isBuffer(id)) throw new TypeError(`expected the bytes of header ${ID_HEADER}, got ${typeof id}`)
  let index = 0
  for (const digit of id) index = index * 10 + digit - 48
  return index
}
