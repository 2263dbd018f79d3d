import type { Delivery } from '../ports/source.ts'
import type { Task } from './task.ts'

/**
 * All tasks of this process by key (single flight). If several payloads arrive under one ID, the first may run. Each of
 * the others is blocked in its lane until the one before it has ended; then the record shows which of them conflicts.
 * The process must not decide that alone: the payload that arrived here first may be the wrong one.
 */
export class SingleFlight {
  /** The first task of each idempotency key. */
  readonly #first = new Map<string, Task>()
  readonly #onUnblocked: (task: Task) => void

  constructor(onUnblocked: (task: Task) => void) {
    this.#onUnblocked = onUnblocked
  }

  /** The task that began first, of those that are under way. */
  get oldest(): Task | undefined {
    return this.#first.values().next().value
  }

  all(): Task[] {
    const all: Task[] = []
    for (const first of this.#first.values()) {
      for (let task: Task | undefined = first; task !== undefined; task = task.rival) all.push(task)
    }
    return all
  }

  /** Returns `false` if the same message is under way already; the delivery has joined that task. */
  begin(task: Task, delivery: Delivery): boolean {
    const first = this.#first.get(task.idempotencyKey)
    if (first === undefined) {
      this.#first.set(task.idempotencyKey, task)
      return true
    }
    let other = first
    while (other.payloadHash !== task.payloadHash && other.rival !== undefined) other = other.rival
    // mutant: conflict-joined
    if (other.payloadHash === task.payloadHash) {
      other.join(delivery)
      return false
    }
    other.rival = task
    task.move('blocked')
    return true
  }

  end(task: Task): void {
    const { idempotencyKey: key, rival } = task
    let before = this.#first.get(key)
    if (before === task) {
      if (rival === undefined) this.#first.delete(key)
      else this.#first.set(key, rival)
      if (rival !== undefined) this.#onUnblocked(rival)
      return
    }
    while (before !== undefined && before.rival !== task) before = before.rival
    if (before !== undefined) before.rival = rival
  }
}
