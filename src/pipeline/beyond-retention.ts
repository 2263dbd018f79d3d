import type { EpochMs } from '../core/units.ts'
import type { ClaimAnswer } from '../ports/store.ts'
import type { Desk } from './runner.ts'
import type { Task } from './task.ts'

/**
 * Finds messages that were granted because they have no record, although their record may have been removed by
 * retention. Tells the observer once for each task, because an inbox may claim a task twice. A message without a
 * timestamp counts as recent.
 */
export class BeyondRetention {
  readonly #desk: Desk
  readonly #told = new WeakSet<Task>()

  constructor(desk: Desk) {
    this.#desk = desk
  }

  includes(task: Task, answer: ClaimAnswer<unknown>, horizon: EpochMs): boolean {
    // A higher fence, a later attempt or a person's decision means that the record still exists.
    if (
      answer.verdict !== 'claimed' ||
      answer.attempt !== 1 ||
      answer.fence > 1 ||
      ('isKnown' in answer && answer.isKnown)
    )
      return false
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

/** Detail of the dead letter. */
export const BEYOND_RETENTION =
  'older than what is still known: it may have been handled, and its record forgotten since'
