import type { WorkerSettings } from '../worker-settings.ts'

export interface RabbitWorkerSettings extends WorkerSettings {
  /** Of the proxy before the broker. */
  readonly url: string
  readonly queue: string
}

/** A frozen worker loses its connection after two or three of these: short freezes are shorter, long ones longer (plan.ts). */
export const HEARTBEAT_SECONDS = 2
export const LEASE_MS = 4_000
