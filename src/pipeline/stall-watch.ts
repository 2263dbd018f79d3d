import { longestAttempt } from '../core/retention.ts'
import { Progress, type Stall, type Work } from '../core/progress.ts'
import type { DurationMs } from '../core/units.ts'
import { durationText } from '../core/duration-text.ts'
import type { Message } from '../ports/message.ts'
import type { Services } from './services.ts'

/** Looks in the time after which a place counts as stalled, so that it is noticed at most that much later. */
const LOOKS = 4
const AT_LEAST_EVERY_MS: DurationMs = 15_000

export function workOf(item: object, { destination, position }: Message, step: number): Work {
  const at = position.indexOf('@')
  // A delivery tag contains no partition.
  const place = at === -1 ? destination : `${destination}/${position.slice(0, at)}`
  return { place, item, step, position }
}

/**
 * Looks now and then whether each partition or queue that has work makes progress, and tells when one has made none for
 * longer than one attempt may take: lease, handler, grace and backoff together. While the store is down nobody can make
 * progress, and `store-down` says so; while a person has paused the consumer, or it holds, nobody shall. It does not keep the process alive, and looks only while something is under way.
 */
export class StallWatch {
  readonly #services: Services
  readonly #work: () => Iterable<Work>
  readonly #progress: Progress
  readonly #everyMs: DurationMs
  #cancel: (() => void) | undefined
  #isOver = false

  constructor(services: Services, work: () => Iterable<Work>) {
    this.#services = services
    this.#work = work
    const stalledAfterMs = longestAttempt(services.consumer).ms
    this.#progress = new Progress(stalledAfterMs)
    this.#everyMs = Math.min(AT_LEAST_EVERY_MS, Math.ceil(stalledAfterMs / LOOKS))
  }

  get stalls(): readonly Stall[] {
    return this.#progress.stalls
  }

  /** Something is under way. */
  wake(): void {
    if (this.#isOver || this.#cancel !== undefined) return
    this.#cancel = this.#services.clock.after(this.#everyMs, () => this.#look(), { background: true })
  }

  stop(): void {
    this.#isOver = true
    this.#cancel?.()
    this.#cancel = undefined
  }

  #look(): void {
    this.#cancel = undefined
    const { clock, store, observe, isPaused, hold } = this.#services
    const before = new Set(this.#progress.stalls.map(({ place }) => place))
    const work = [...this.#work()]
    if (store.isDown || isPaused || hold.isHolding) this.#progress.excuse(clock.monotonic())
    else {
      for (const stall of this.#progress.look(work, clock.monotonic())) {
        if (!before.delete(stall.place)) observe({ type: 'stalled', ...stall })
      }
      for (const place of before) observe({ type: 'stall-over', place })
    }
    if (work.length > 0) this.wake()
  }
}

/** The text of `health().checks.progress`. */
export function progressCheck(stalls: readonly Stall[]): string {
  if (stalls.length === 0) return 'ok'
  return stalls
    .map(
      ({ place, count, oldest, forMs }) =>
        `${place}: ${count} under way and none has ended or begun for ${durationText(Math.round(forMs / 1_000) * 1_000)}, the oldest at ${oldest}`,
    )
    .join('; ')
}
