import type { DurationMs } from '../../../src/internal.ts'

const LOOK_EVERY_MS = 15_000

interface StallWatchParts {
  /**
   * Identifies the delivery after which nothing is in flight; `undefined` if something is, or if nothing is consumed.
   */
  readonly quietAfter: () => string | undefined
  /** True if the queue has messages ready, or is gone. May reject. */
  readonly hasReady: () => Promise<boolean>
  readonly onStalled: () => void
}

/**
 * Finds a consumer that the broker has forgotten without a word, as RabbitMQ 3.10 does when a quorum queue is deleted
 * and declared again at once: it counts as a consumer of the new queue and takes a prefetch full of messages that never
 * arrive, and later messages stay in the queue. Only that last state is detected: fewer messages wait, unnoticed, until
 * the channel ends.
 *
 * A consumer without unacked messages has room, and a queue gives ready messages to every consumer with room, whatever
 * other consumers it has. So two checks that both find messages ready, with no delivery between them, show that this
 * consumer gets none. One check may fall between the arrival of a message and its delivery. That two checks do so while
 * all messages in between go to others is unlikely, and costs only one more set-up. There is no check if consumers wait
 * for their turn (single active consumer), or while a delivery is in flight.
 */
export class StallWatch {
  readonly #parts: StallWatchParts
  readonly #everyMs: DurationMs
  #timer: NodeJS.Timeout | undefined
  /** The value of `quietAfter` when a check found messages ready. */
  #suspectedAfter: string | undefined
  #isOver = false

  constructor(parts: StallWatchParts, everyMs: DurationMs = LOOK_EVERY_MS) {
    this.#parts = parts
    this.#everyMs = everyMs
    this.#schedule()
  }

  stop(): void {
    this.#isOver = true
    clearTimeout(this.#timer)
  }

  #schedule(): void {
    if (this.#isOver) return
    this.#timer = setTimeout(() => void this.#look(), this.#everyMs)
    this.#timer.unref()
  }

  async #look(): Promise<void> {
    const before = this.#parts.quietAfter()
    const suspectedAfter = this.#suspectedAfter
    this.#suspectedAfter = undefined
    if (before !== undefined && (await this.#hasReady()) && this.#parts.quietAfter() === before && !this.#isOver) {
      if (suspectedAfter === before) this.#parts.onStalled()
      else this.#suspectedAfter = before
    }
    this.#schedule()
  }

  /** No answer, or a refusal, proves nothing. */
  async #hasReady(): Promise<boolean> {
    try {
      return await this.#parts.hasReady()
    } catch {
      return false
    }
  }
}
