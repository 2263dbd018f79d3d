import type { StoreName } from './plan.ts'

// The content of Postgres at the end of a run, and when each fault hit which process. Times are milliseconds since 1970: brokers,
// Postgres and the run share the clock of one machine.

/** One row of the table of effects. */
export interface Effect {
  readonly id: string
  /** One process: a worker that is started again is another. */
  readonly process: string
  readonly begunAt: number
  /** When Postgres committed it. */
  readonly at: number
}

export interface ProcessFault {
  readonly process: string
  readonly kind: 'killed' | 'frozen'
  readonly from: number
  /** Infinite for a kill. */
  readonly to: number
}

/** Evidence of a run on any broker. */
export interface EvidenceOfEffects {
  readonly store: StoreName
  readonly effects: readonly Effect[]
  readonly faults: readonly ProcessFault[]
  readonly leaseMs: number
}
