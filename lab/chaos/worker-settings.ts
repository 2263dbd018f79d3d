import type { Soak } from './plan.ts'

/** For the module of a worker. */
export interface ChaosSettings {
  /** Where the effects are, whatever its store. */
  readonly postgresUrl: string
  readonly planted: string | undefined
  readonly soak: Soak | undefined
}

/** What a worker reports besides the events of its consumer. Only for figures: no judgement uses it. */
export type ChaosReport =
  /** Count of each outcome since the last report. */
  | { readonly counts: Readonly<Record<string, number>> }
  /** In a soak, after a collection of all garbage. */
  | { readonly usage: Usage }

/** Resources of a process. */
export interface Usage {
  readonly heapMb: number
  readonly timers: number
  /** Sockets, pipes and all else that is open. */
  readonly handles: number
}

/** Short enough that some freezes end the transaction that was open, and some do not. Longer than a handler may take. */
export const IDLE_IN_TRANSACTION_MS = 10_000
export const HANDLER_TIMEOUT_MS = 5_000

/** Time for handlers to finish when a worker stops. */
export const STOP_DEADLINE_MS = 8_000

export const EFFECTS = 'effects'

/** Scope of the records of a soak, so that a purge needs no topic or queue. */
export const SOAK_SCOPE = 'soak'
export const REPORT_USAGE_EVERY_MS = 1_000
