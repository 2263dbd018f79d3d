import type { FetchedBatch } from '../../kafka/client.ts'

/**
 * Makes it safe to return from `eachBatch` with everything from this offset on unfinished. With `eachBatchAutoResolve`,
 * which is true by default and cannot be detected here, kafkajs resolves `batch.lastOffset()` after any return and
 * would commit the unfinished messages. So this function makes its batch end before them. To throw would be safe too,
 * except while a consumer stops: if its retries are used up, kafkajs then restarts the consumer that it has just
 * stopped.
 *
 * Returns `false` without any change if the batch is not kafkajs's own but a copy.
 */
export function endBatchBefore(batch: FetchedBatch, offset: string): boolean {
  if (!isOfKafkajs(batch)) return false
  const last = (BigInt(offset) - 1n).toString()
  return Reflect.defineProperty(batch, 'lastOffset', { value: () => last })
}

function isOfKafkajs(batch: FetchedBatch): boolean {
  const prototype = Object.getPrototypeOf(batch) as object | null
  if (prototype === null || Object.hasOwn(batch, 'lastOffset') || !Object.hasOwn(prototype, 'lastOffset')) return false
  return prototype.constructor.name === 'Batch' && Object.hasOwn(batch, 'fetchedOffset')
}
