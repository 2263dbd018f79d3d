import type { Task } from '../task.ts'

/** Counts tasks that are claimed, or being claimed, and not yet marked or given back. */
export class Semaphore {
  #held = 0

  get held(): number {
    return this.#held
  }

  acquire(task: Task): void {
    if (task.move('claimed')) this.#held++
  }

  /** Before the state of a task changes. */
  release({ state }: Task): void {
    if (state === 'claimed') this.#held--
  }
}
