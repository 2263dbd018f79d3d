import type { DurationMs, MonotonicMs } from '../../core/units.ts'
import type { Task } from '../task.ts'

/** Messages whose count is kept. The oldest is forgotten first, and counts from the beginning. */
const MOST_KEPT = 10_000

interface PutOff {
  readonly times: number
  readonly until: MonotonicMs
}

/**
 * Messages whose handler asked for a later time (`RetryLaterError`), by idempotency key: a copy that comes back from a retry
 * place counts on.
 */
export class PutOffs {
  readonly #most: number
  readonly #kept = new Map<string, PutOff>()

  /** @param most - how often in a row a message may be put off without spending an attempt */
  constructor(most: number) {
    this.#most = most
  }

  mayPutOff(tasks: readonly { readonly task: Task }[]): boolean {
    return tasks.every(({ task }) => (this.#kept.get(task.idempotencyKey)?.times ?? 0) < this.#most)
  }

  /** It waits for so long. Returns how often it was put off in a row, this time included. */
  putOff({ idempotencyKey }: Task, forMs: DurationMs, now: MonotonicMs): number {
    const times = (this.#kept.get(idempotencyKey)?.times ?? 0) + 1
    this.#kept.delete(idempotencyKey)
    this.#kept.set(idempotencyKey, { times, until: now + forMs })
    if (this.#kept.size > MOST_KEPT) this.#forgetOldest()
    return times
  }

  /** It waits until its time comes. */
  isWaiting({ idempotencyKey }: Task, now: MonotonicMs): boolean {
    const kept = this.#kept.get(idempotencyKey)
    return kept !== undefined && kept.until > now
  }

  /** Its handler asked for a later time, and no run of it has ended otherwise since. */
  wasPutOff({ idempotencyKey }: Task): boolean {
    return this.#kept.has(idempotencyKey)
  }

  get areAny(): boolean {
    return this.#kept.size > 0
  }

  /** Its run ended in another way. */
  ended(task: Task): void {
    if (this.#kept.size > 0) this.#kept.delete(task.idempotencyKey)
  }

  #forgetOldest(): void {
    const [oldest] = this.#kept.keys()
    if (oldest !== undefined) this.#kept.delete(oldest)
  }
}
