import { PassingMap } from '../../foundation/passing-map.ts'
import type { Delivery } from '../../ports/source.ts'
import type { Task } from '../task.ts'

/**
 * All tasks of this process by key (single flight). A delivery joins a task that has all of its keys, with the same
 * payloads. Any other task that shares a key is blocked in its lane until those before it have ended; then the records
 * show whether it is a duplicate or conflicts. The process must not decide that alone: the payload that arrived here
 * first may be the wrong one. Each task waits only for tasks that arrived before it, so the oldest never waits.
 */
export class SingleFlight {
  /** The tasks of each idempotency key, in the order of their arrival: one, or several that share it. */
  readonly #queues = new PassingMap<string, Task | Task[]>()
  readonly #onUnblocked: (task: Task) => void

  readonly #isJoining: boolean

  /** @param isJoining - false: each delivery is a task of its own, and tasks of one key may run at once */
  constructor(onUnblocked: (task: Task) => void, isJoining: boolean = true) {
    this.#onUnblocked = onUnblocked
    this.#isJoining = isJoining
  }

  /** The task that began first, of those that are under way. */
  get oldest(): Task | undefined {
    let oldest: Task | undefined
    for (const task of this.all()) if (oldest === undefined || task.arrival.at < oldest.arrival.at) oldest = task
    return oldest
  }

  /** A task has begun and not ended. Looked for only while messages fail. */
  get isAnyRunning(): boolean {
    return this.all().some(({ state }) => state === 'taken' || state === 'claimed')
  }

  all(): Task[] {
    const all: Task[] = []
    for (const [key, queue] of this.#queues) {
      // A task with several keys is in several queues.
      for (const task of [queue].flat()) if (task.idempotencyKey === key) all.push(task)
    }
    return all
  }

  /** Returns `false` if the same message is under way already; the delivery has joined that task. */
  begin(task: Task, delivery: Delivery): boolean {
    const queue = this.#queues.get(task.idempotencyKey)
    const same = queue !== undefined && this.#isJoining ? sameIn(queue, task) : undefined
    if (same !== undefined) {
      same.join(delivery)
      return false
    }
    this.#enter(task.idempotencyKey, queue, task)
    for (const { idempotencyKey } of task.others) this.#enter(idempotencyKey, this.#queues.get(idempotencyKey), task)
    if (task.waitsFor > 0 && this.#isJoining) task.move('blocked')
    return true
  }

  end(task: Task): void {
    this.#leave(task.idempotencyKey, task)
    for (const { idempotencyKey } of task.others) this.#leave(idempotencyKey, task)
  }

  #enter(key: string, queue: Task | Task[] | undefined, task: Task): void {
    if (queue === undefined) {
      this.#queues.add(key, task)
      return
    }
    task.waitsFor++
    task.sharesKey = true
    if (Array.isArray(queue)) queue.push(task)
    else {
      queue.sharesKey = true
      this.#queues.replace(key, [queue, task])
    }
  }

  #leave(key: string, task: Task): void {
    // Nearly always: nothing else was ever under its keys. Without a look, because a Map of thousands is slow to read.
    if (!task.sharesKey) {
      this.#queues.delete(key)
      return
    }
    const queue = this.#queues.get(key)
    if (queue === task) this.#queues.delete(key)
    if (!Array.isArray(queue)) return
    const at = queue.indexOf(task)
    if (at !== -1) queue.splice(at, 1)
    const [next] = queue
    if (next === undefined || at === -1) return
    if (queue.length === 1) this.#queues.replace(key, next)
    if (at === 0 && --next.waitsFor === 0) this.#onUnblocked(next)
  }
}

function sameIn(queue: Task | Task[], task: Task): Task | undefined {
  for (const other of Array.isArray(queue) ? queue : [queue]) {
    // mutant: conflict-joined
    if (other.covers(task)) return other
  }
  return undefined
}
