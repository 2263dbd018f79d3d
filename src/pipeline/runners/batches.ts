import type { Task } from '../task.ts'

/**
 * A failed batch runs again in parts. More parts find the message that fails with fewer runs of the others, but more of
 * them run at once when every message fails.
 */
const PARTS = 8

/** The batch of these tasks failed, and nobody knows because of which: each runs again in a smaller one. */
export function splitUp(tasks: readonly Task[]): void {
  const most = Math.max(1, Math.ceil(tasks.length / PARTS))
  for (const task of tasks) task.limitCompany(most)
}

/** Batches of items in their order. None is larger than the company that each of its tasks may have. */
export function batchesOf<Item extends { readonly task: Task }>(items: readonly Item[]): readonly (readonly Item[])[] {
  const batches: Item[][] = []
  let batch: Item[] = []
  let most = Number.POSITIVE_INFINITY
  for (const item of items) {
    most = Math.min(most, item.task.company)
    if (batch.length >= most) {
      batches.push(batch)
      batch = []
      most = item.task.company
    }
    batch.push(item)
  }
  if (batch.length > 0) batches.push(batch)
  return batches
}
