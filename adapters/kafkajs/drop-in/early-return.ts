import type { BatchLike } from '../slice.ts'

/**
 * Makes it safe to return from `eachBatch` with everything from this offset on unfinished. With `eachBatchAutoResolve`, which is
 * true by default and cannot be seen from inside, kafkajs resolves `batch.lastOffset()` after any return, and unfinished
 * messages would be committed: so its own batch now ends before them. To throw would be safe too, but not while a consumer
 * stops: where its retries are used up, kafkajs then restarts what it has just stopped.
 *
 * `false` where it is not kafkajs's own batch, but a copy that somebody made: then nothing was changed.
 */
export function endBatchBefore(batch: BatchLike, offset: string): boolean {
  if (!isOfKafkajs(batch)) return false
  const last = (BigInt(offset) - 1n).toString()
  return Reflect.defineProperty(batch, 'lastOffset', { value: () => last })
}

function isOfKafkajs(batch: BatchLike): boolean {
  const prototype = Object.getPrototypeOf(batch) as object | null
  if (prototype === null || Object.hasOwn(batch, 'lastOffset') || !Object.hasOwn(prototype, 'lastOffset')) return false
  return prototype.constructor.name === 'Batch' && Object.hasOwn(batch, 'fetchedOffset')
}
