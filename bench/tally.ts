import type { Measurement } from './suite.ts'

/** Holds the ID of a message: its number, in ASCII. */
export const ID_HEADER = 'message-id'

/** Counts what a contender did and takes the time. Costs all contenders the same. */
export class Tally {
  /** Resolves when every message has ended. */
  readonly complete: Promise<void>
  readonly #messages: number
  readonly #starts: Uint8Array
  #startedAt: number | undefined
  #cpuAtStart: NodeJS.CpuUsage | undefined
  #took: Pick<Measurement, 'tookMs' | 'cpuMs'> | undefined
  #ended = 0
  #onComplete: () => void = () => {}

  constructor(messages: number) {
    this.#messages = messages
    this.#starts = new Uint8Array(messages)
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

  /** So many messages are over, in the contender's own sense: returned, marked, committed. */
  ended(count: number): void {
    this.#ended += count
    if (this.#ended < this.#messages || this.#took !== undefined) return
    const { user, system } = process.cpuUsage(this.#cpuAtStart)
    this.#took = { tookMs: performance.now() - (this.#startedAt ?? 0), cpuMs: (user + system) / 1_000 }
    this.#onComplete()
  }

  /** @throws unless each message was handled, once. */
  measurement(): Measurement {
    const repeated = this.#starts.reduce((sum, starts) => sum + Math.max(0, starts - 1), 0)
    const missing = this.#starts.reduce((sum, starts) => sum + (starts === 0 ? 1 : 0), 0)
    if (missing > 0 || repeated > 0 || this.#ended !== this.#messages) {
      throw new Error(`of ${this.#messages} messages: ${missing} missing, ${repeated} repeated, ${this.#ended} ended`)
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
