import type { Soak } from './plan.ts'

/** What every worker is started with, as JSON in its only argument. */
export interface WorkerSettings {
  readonly process: string
  readonly postgresUrl: string
  /** With it: a lease there. Without: an inbox. */
  readonly redisUrl: string | undefined
  readonly planted: string | undefined
  readonly soak: Soak | undefined
}

/** What a worker tells, a line of JSON each. For figures and to wait on: nothing is judged by it. */
export type WorkerLine =
  | { readonly says: 'running' }
  | { readonly says: 'stopped' }
  | { readonly says: 'event'; readonly event: string; readonly detail?: string | undefined }
  /** Since the last of these. */
  | { readonly says: 'outcomes'; readonly counts: Readonly<Record<string, number>> }
  /** In a soak, after a collection of all garbage. */
  | { readonly says: 'usage'; readonly usage: Usage }

/** What a process holds. */
export interface Usage {
  readonly heapMb: number
  readonly timers: number
  /** Sockets, pipes and all else that is open. */
  readonly handles: number
}

/** Short enough that some freezes end the transaction that was open, and some do not. Longer than a handler may take. */
export const IDLE_IN_TRANSACTION_MS = 10_000
export const HANDLER_TIMEOUT_MS = 5_000

/** How long handlers may go on when a worker is asked to stop. */
export const STOP_DEADLINE_MS = 8_000

/** The broker could not be used at the start: a supervisor starts it again. */
export const EXIT_NOT_STARTED = 75

export const EFFECTS = 'effects'

/** Records of a soak: so that they can be purged by whoever knows no topic or queue. */
export const SOAK_SCOPE = 'soak'
export const TELL_USAGE_EVERY_MS = 1_000
