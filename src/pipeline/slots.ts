import type { Task } from './task.ts'

/** Tasks that are claimed, or being claimed, and not yet marked or given back. */
export class Slots {
  #taken = 0

  get taken(): number {
    return this.#taken
  }

  has(task: Task): boolean {
    return task.hasSlot
  }

  take(task: Task): void {
    if (task.hasSlot) return
    task.hasSlot = true
    this.#taken++
  }

  free(task: Task): void {
    if (!task.hasSlot) return
    task.hasSlot = false
    this.#taken--
  }
}
