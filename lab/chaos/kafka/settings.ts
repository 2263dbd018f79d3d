import type { KafkaSpec } from '../../kit/worker/spec.ts'
import type { ChaosClient } from './plan.ts'
import type { Tuning } from '../worker-slot.ts'

/** All freezes are longer (plan.ts). */
const SESSION_MS = 6_000
/** By KIP-848 the session is a setting of the broker. */
export const PROPERTIES: Readonly<Record<string, string>> = {
  'group.consumer.min.session.timeout.ms': String(SESSION_MS),
  'group.consumer.session.timeout.ms': String(SESSION_MS),
  'group.consumer.min.heartbeat.interval.ms': '500',
  'group.consumer.heartbeat.interval.ms': '500',
  // A transaction whose producer has ended blocks the partitions until then.
  'transaction.abort.timed.out.transaction.cleanup.interval.ms': '1000',
}
export const LEASE_MS = 6_000

export const TUNING: Tuning = {
  leaseMs: LEASE_MS,
  // A message that happens to be there at many kills is no poison.
  maxAttempts: 50,
  backoff: { initialMs: 50, maxMs: 1_000 },
}

export function sourceOf(
  brokers: readonly string[],
  topics: readonly string[],
  groupId: string,
  client: ChaosClient = 'kafkajs',
): KafkaSpec {
  const options = {
    topics,
    group: groupId,
    commitEveryMs: 200,
    consumerConfig: {
      sessionTimeout: SESSION_MS,
      rebalanceTimeout: SESSION_MS,
      heartbeatInterval: 500,
      // A fetch in long poll at one broker while another rejoins is how messages are jumped over.
      maxWaitTimeInMs: 1_500,
      ...(client === 'platformatic-kip848' && { groupProtocol: 'consumer' as const }),
    },
  }
  const library = client === 'kafkajs' ? 'kafkajs' : 'platformatic'
  return { kind: 'kafka', library, brokers, options }
}
