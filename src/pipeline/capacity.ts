import type { ResolvedConsumer } from '../consumer/resolve-options.ts'
import type { Capacity } from '../ports/source.ts'

/** How much a consumer takes, for its source. */
export function capacityOf(consumer: ResolvedConsumer): Capacity {
  const { store, concurrency, transactions, batchSize, handleBatch } = consumer
  const isLease = store.strategy === 'lease'
  const slots = handleBatch === undefined ? concurrency : Math.ceil(concurrency / batchSize)
  return {
    maxInFlight: consumer.maxInFlight,
    handlers: isLease ? slots : transactions,
    claims: isLease ? concurrency : transactions * batchSize,
    leaseMs: consumer.leaseMs,
    longestRunMs: consumer.handlerTimeoutMs + consumer.graceMs,
    maxAttempts: consumer.maxAttempts,
    ...(consumer.limit === undefined ? {} : { perSecond: consumer.limit.perSecond }),
  }
}
