import { durationText, type CheckedConsumer, type CheckFinding } from '../../../src/internal.ts'
import { BROKERS_TIMEOUT_MS } from '../options/fit.ts'
import type { RabbitSettings } from '../options/resolve.ts'
import { broken, holds, unknown, weaker, weakerByDefault } from '../topology/findings.ts'
import type { QueueArguments } from '../topology/plans.ts'
import { isAtLeast } from '../topology/server-version.ts'

/**
 * Checks how long the broker leaves a delivery unacked. The timeout is an argument of the queue, set by this consumer,
 * or unknown.
 */
export function consumerTimeout(
  { consumerTimeoutMs }: RabbitSettings,
  declared: QueueArguments,
  { version, consumer }: { readonly version: string; readonly consumer: CheckedConsumer },
): CheckFinding {
  const check = 'consumer-timeout'
  const needed = Math.max(consumer.leaseMs, consumer.longestRunMs)
  const ofQueue = declared['x-consumer-timeout']
  const isSetHere = declared['x-queue-type'] === 'quorum' && isAtLeast(version, 4, 3)
  const known = isSetHere && consumerTimeoutMs !== undefined ? consumerTimeoutMs : ofQueue
  const assumed = typeof known === 'number' ? known : (consumerTimeoutMs ?? BROKERS_TIMEOUT_MS)
  const found = `consumer timeout ${durationText(assumed)}${typeof known === 'number' ? '' : ', by assumption'}, a message is under way for ${durationText(needed)} at most`
  if (assumed <= needed) {
    const meaning =
      'The broker takes the message back while its handler runs, and delivers it again. Raise its consumer_timeout, or lower handlerTimeoutMs.'
    if (assumed === consumerTimeoutMs) return broken(check, found, meaning)
    return (typeof known === 'number' ? weaker : weakerByDefault)(check, found, meaning)
  }
  if (typeof known === 'number') return holds(check, found)
  const meaning =
    "Nobody can ask the broker by AMQP: look with `rabbitmqctl eval 'application:get_env(rabbit, consumer_timeout).'`, which must be more."
  return unknown(check, found, meaning)
}
