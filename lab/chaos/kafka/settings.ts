import type { WorkerSettings } from '../worker-settings.ts'

export interface KafkaWorkerSettings extends WorkerSettings {
  readonly brokers: readonly string[]
  readonly topic: string
  readonly groupId: string
}

/** All freezes are longer (plan.ts). */
export const SESSION_MS = 6_000
export const LEASE_MS = 6_000
