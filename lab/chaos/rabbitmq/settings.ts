import type { RabbitSpec } from '../../kit/worker/spec.ts'
import type { Tuning } from '../worker-slot.ts'

/** A frozen worker loses its connection after two or three of these: short freezes are shorter, long ones longer (plan.ts). */
export const HEARTBEAT_SECONDS = 2
export const LEASE_MS = 4_000

export const TUNING: Tuning = {
  concurrency: 20,
  leaseMs: LEASE_MS,
  retentionMs: 3_600_000,
  // Poison is given up soon; no other message meets this many kills.
  maxAttempts: 8,
  backoff: { initialMs: 20, maxMs: 200 },
}

/** @param url - of the proxy before the broker */
export function sourceOf(url: string, queue: string): RabbitSpec {
  return { kind: 'rabbitmq', url, options: { queue, prefetch: 100 } }
}
