import type { Usage } from '../chaos/worker-settings.ts'

/** State at one moment of a soak. `undefined`: no answer in time. */
export interface Sample {
  /** Milliseconds since the run began. */
  readonly at: number
  readonly records: Records | undefined
  readonly transactions: Transactions | undefined
  /** Messages that the broker still had for the workers. */
  readonly backlog: number | undefined
  readonly workers: readonly WorkerSample[]
}

export interface Records {
  /** Rows for messages, and for attempts of messages that are not done. */
  readonly count: number
  /** On disk (Postgres), or in memory (Redis). */
  readonly mb: number
}

/** What the workers have open in Postgres. */
export interface Transactions {
  readonly connections: number
  /** Open for longer than a handler may take. */
  readonly lingering: number
  readonly oldestMs: number
}

export interface WorkerSample {
  /** One process: a worker that is started again is another. */
  readonly process: string
  readonly rssMb: number
  /** Its last report; `undefined`: none yet. */
  readonly usage: Usage | undefined
}
