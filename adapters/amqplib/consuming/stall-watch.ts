import type { DurationMs } from '../../../src/index.ts'

const LOOK_EVERY_MS = 15_000

interface StallWatchParts {
  /** After which delivery nothing is under way; `undefined`: something is, or nothing is consumed. */
  readonly quietAfter: () => string | undefined
  /** The queue holds messages for whoever has room, or is gone. May reject. */
  readonly hasReady: () => Promise<boolean>
  readonly onStalled: () => void
}

/**
 * Finds a consumer that the broker has forgotten without a word, as RabbitMQ 3.10 does when a quorum queue is deleted and at
 * once declared again: it counts as a consumer of the new queue, takes a prefetch full of messages that never arrive, and
 * whatever comes then stays in the queue. Only that is seen here: fewer messages wait, unseen, until the channel ends.
 *
 * A consumer with nothing unacked has room, and a queue gives what is ready to each consumer that has room, whatever others
 * consume it: so two looks that both find messages ready, with no delivery between them, show that this one gets none. One
 * look may fall between the arrival of a message and its delivery to somebody; for two to do so, while all that arrives
 * in between goes to others, takes an accident that costs one more set-up. It is not asked where consumers wait for their turn
 * (single active consumer), and not while anything is under way.
 */
export class StallWatch {
  readonly #parts: StallWatchParts
  readonly #everyMs: DurationMs
  #timer: NodeJS.Timeout | undefined
  /** What `quietAfter` was when a look found messages ready. */
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

  /** No answer, or none that may be given, says nothing. */
  async #hasReady(): Promise<boolean> {
    try {
      return await this.#parts.hasReady()
    } catch {
      return false
    }
  }
}
