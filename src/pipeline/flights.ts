import type { Delivery } from '../ports/source.ts'
import type { Task } from './task.ts'

/**
 * Every task of this process by its key: single flight. Of several payloads under one ID, the first to come may run; the others
 * wait in their places, each blocked until the one before it has ended, and then the record says which of them conflicts. A process
 * must not say so by itself: what came first here may be the wrong one, or nobody's.
 */
export class Flights {
  /** By idempotency key. */
  readonly #first = new Map<string, Task>()
  readonly #onUnblocked: (task: Task) => void

  constructor(onUnblocked: (task: Task) => void) {
    this.#onUnblocked = onUnblocked
  }

  all(): Task[] {
    const all: Task[] = []
    for (const first of this.#first.values()) {
      for (let task: Task | undefined = first; task !== undefined; task = task.rival) all.push(task)
    }
    return all
  }

  /** `false`: the same message is under way already, and its delivery is one of that task's now. */
  begin(task: Task, delivery: Delivery): boolean {
    const first = this.#first.get(task.idempotencyKey)
    if (first === undefined) {
      this.#first.set(task.idempotencyKey, task)
      return true
    }
    let other = first
    while (other.payloadHash !== task.payloadHash && other.rival !== undefined) other = other.rival
    if (other.payloadHash === task.payloadHash) {
      other.join(delivery)
      return false
    }
    other.rival = task
    task.isBlocked = true
    return true
  }

  /** `false`: it has ended before. What still runs for a task that was given up at the stop deadline ends nothing any more. */
  end(task: Task): boolean {
    const { idempotencyKey: key, rival } = task
    let before = this.#first.get(key)
    if (before === task) {
      if (rival === undefined) this.#first.delete(key)
      else this.#first.set(key, rival)
      if (rival !== undefined) this.#onUnblocked(rival)
      return true
    }
    while (before !== undefined && before.rival !== task) before = before.rival
    if (before === undefined) return false
    before.rival = rival
    return true
  }
}
