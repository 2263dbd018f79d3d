import { durationText, systemClock, type DurationMs, type EpochMs } from '../../../src/internal.ts'
import type { DelayedCopies } from '../copies/delayed.ts'

const LOOK_EVERY_MS = 250
const TELL_BLOCKED_EVERY_MS = 60_000
/** The longest time for which a copy that another consumer got counts as missing. */
const ASK_FOR_RIVALS_EVERY_MS = 5_000

interface WatchParts {
  readonly delayed: DelayedCopies
  readonly overdueAfterMs: DurationMs
  /** True if the queue has other consumers too. May reject. */
  readonly hasRivals: () => Promise<boolean>
  /** Seconds; 0 if there is none. */
  readonly heartbeat: () => number
  readonly report: (event: 'loop-blocked' | 'delayed-overdue', detail: string) => void
}

/**
 * Checks periodically for two conditions that nothing else reports: a blocked event loop, and delayed copies that do
 * not come back.
 */
export class Watches {
  readonly #parts: WatchParts
  readonly #timer: NodeJS.Timeout
  /** Reported, and not resolved since. */
  readonly #overdue = new Set<string>()
  #lookedAt = systemClock.monotonic()
  #toldBlockedAt = Number.NEGATIVE_INFINITY
  #askedForRivalsAt = Number.NEGATIVE_INFINITY
  #isAsking = false

  constructor(parts: WatchParts) {
    this.#parts = parts
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS)
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #look(): void {
    this.#lookAtLoop()
    this.#lookAtDelayed(systemClock.now())
  }

  #lookAtLoop(): void {
    const now = systemClock.monotonic()
    const blockedMs = now - this.#lookedAt - LOOK_EVERY_MS
    this.#lookedAt = now
    const { heartbeat, report } = this.#parts
    const heartbeatMs = heartbeat() * 1000
    if (heartbeatMs === 0 || blockedMs <= heartbeatMs / 2) return
    if (now - this.#toldBlockedAt < TELL_BLOCKED_EVERY_MS) return
    this.#toldBlockedAt = now
    report(
      'loop-blocked',
      `for ${Math.round(blockedMs)} ms nothing ran, and the heartbeat of the connection is ${heartbeatMs} ms: the broker closes a connection that is silent for two of them, and delivers again what runs. Do such work in a worker thread, in smaller parts, or raise heartbeat`,
    )
  }

  #lookAtDelayed(now: EpochMs): void {
    const { delayed, overdueAfterMs } = this.#parts
    const late = [...delayed.overdueMs(now)].filter(([queue, lateMs]) => {
      if (lateMs <= overdueAfterMs) this.#overdue.delete(queue)
      return lateMs > 0
    })
    const askEveryMs = Math.min(ASK_FOR_RIVALS_EVERY_MS, overdueAfterMs)
    if (late.length === 0 || this.#isAsking || this.#lookedAt - this.#askedForRivalsAt < askEveryMs) return
    this.#askedForRivalsAt = this.#lookedAt
    this.#isAsking = true
    void this.#askForRivals(now)
  }

  /** A copy that is due and has not come back is overdue only if no other consumer can have got it. */
  async #askForRivals(now: EpochMs): Promise<void> {
    const { delayed, hasRivals } = this.#parts
    try {
      if (await hasRivals()) delayed.sharedAt(now)
      else this.#tellOverdue(now)
    } catch {
      // Without an answer nothing is known. The next check asks again.
    } finally {
      this.#isAsking = false
    }
  }

  #tellOverdue(now: EpochMs): void {
    const { delayed, overdueAfterMs, report } = this.#parts
    for (const [queue, lateMs] of delayed.overdueMs(now)) {
      if (lateMs <= overdueAfterMs || this.#overdue.has(queue)) continue
      this.#overdue.add(queue)
      report(
        'delayed-overdue',
        `queue ${queue}: the oldest copy that this process delayed is ${durationText(Math.round(lateMs / 1_000) * 1_000)} overdue, and no other process consumes the queue: either it waits in the consumed queue, or the broker does not move it on (restart the broker)`,
      )
    }
  }
}
