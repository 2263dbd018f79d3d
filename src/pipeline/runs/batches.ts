import type { Task } from '../task.ts'

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
