import type { RabbitSettings } from '../options/resolve.ts'
import { isAtLeast } from './server-version.ts'

export type QueueArgument = string | number | boolean
export type QueueArguments = Readonly<Record<string, QueueArgument>>

/** One queue that this consumer needs, and how the library declares it. */
export interface QueuePlan {
  readonly name: string
  readonly role: 'consumed' | 'delay' | 'dead-letter'
  readonly arguments: QueueArguments
}

/**
 * The only place that chooses the arguments of a queue for a server version.
 *
 * Attempts are counted in the store, so the delivery limit of quorum queues is disabled where that is possible (from
 * 4.0). Beyond the limit the broker would drop messages; on 4.3 it would do so in a dead-letter queue too, because
 * counts travel with the message. Below 4.0 the same -1 would drop a message at its first return.
 */
export function queuePlans(settings: RabbitSettings, version: string): QueuePlan[] {
  const { queue, queueType, singleActiveConsumer, retry, deadLetter } = settings
  const isQuorum = queueType === 'quorum'
  const kind = {
    'x-queue-type': queueType,
    ...(isQuorum && isAtLeast(version, 4, 0) ? { 'x-delivery-limit': -1 } : {}),
  }
  const consumed = {
    ...kind,
    ...(singleActiveConsumer ? { 'x-single-active-consumer': true } : {}),
    ...(retry.kind === 'delayed-by-queue'
      ? {
          'x-delayed-retry-type': 'all',
          'x-delayed-retry-min': retry.minMs,
          'x-delayed-retry-max': retry.maxMs,
        }
      : {}),
  }
  const back = { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': queue }
  // Without this overflow the strategy silently stays at-most-once. Classic queues have neither.
  const surely = isQuorum ? { 'x-dead-letter-strategy': 'at-least-once', 'x-overflow': 'reject-publish' } : {}
  const delays = retry.kind === 'delay-queues' ? retry.queues : []
  return [
    { name: queue, role: 'consumed', arguments: consumed },
    ...delays.map((delay): QueuePlan => ({
      name: delay.queue,
      role: 'delay',
      arguments: { ...kind, 'x-message-ttl': delay.delayMs, ...back, ...surely },
    })),
    ...(deadLetter.kind === 'queue' ? [{ name: deadLetter.queue, role: 'dead-letter', arguments: kind } as const] : []),
  ]
}
