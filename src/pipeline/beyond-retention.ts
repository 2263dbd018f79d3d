import type { EpochMs } from '../core/units.ts'
import type { ClaimAnswer } from '../ports/store.ts'
import type { Desk } from './runner.ts'
import type { Task } from './task.ts'

/**
 * Whether a message was granted because nothing is known of it, though whatever was known may have been forgotten. Told to the
 * observer once for each task: an inbox may claim one twice. A message without a timestamp is taken for a young one.
 */
export class BeyondRetention {
  readonly #desk: Desk
  readonly #told = new WeakSet<Task>()

  constructor(desk: Desk) {
    this.#desk = desk
  }

  includes(task: Task, answer: ClaimAnswer<unknown>, horizon: EpochMs): boolean {
    // A later fence, a later attempt or the decision of a person is a record that is still there.
    if (answer.verdict !== 'claimed' || answer.attempt !== 1 || answer.fence > 1 || answer.isKnown) return false
    const { message } = task
    const { timestamp } = message
    if (timestamp === undefined || timestamp <= 0 || timestamp >= horizon) return false
    if (!this.#told.has(task)) {
      this.#told.add(task)
      const { observe, consumer } = this.#desk
      observe({ type: 'beyond-retention', key: task.key, policy: consumer.onBeyondRetention, message })
    }
    return true
  }
}

/** Of its dead letter. */
export const BEYOND_RETENTION =
  'older than what is still known: it may have been handled, and its record forgotten since'
