import type { StoreName } from './plan.ts'

// What the servers say at the end of a run, and when which process was harmed. Times are milliseconds since 1970: brokers,
// Postgres and the run share the clock of one machine.

/** A message in the topic, at the offset that is its place in the list. */
export interface LoggedMessage {
  readonly id: string
  readonly key: string
}

/** One record of `__consumer_offsets`. */
export interface OffsetCommit {
  readonly offset: number
  /** By the coordinator, when it took the commit; cut to whole milliseconds. */
  readonly at: number
}

/** One row of the table of effects. */
export interface Effect {
  readonly id: string
  /** One process: a worker that is started again is another. */
  readonly process: string
  readonly begunAt: number
  /** When Postgres committed it. */
  readonly at: number
}

export interface ProcessHarm {
  readonly process: string
  readonly kind: 'killed' | 'frozen'
  readonly from: number
  /** Infinite for a kill. */
  readonly to: number
}

export interface PartitionEvidence {
  readonly log: readonly LoggedMessage[]
  /** In the order of the log of `__consumer_offsets`. */
  readonly commits: readonly OffsetCommit[]
  /** What the group has at the end; negative for nothing. */
  readonly committed: number
}

export interface Evidence {
  readonly store: StoreName
  /** IDs that a leader, with the others in sync, said to have written. */
  readonly acknowledged: ReadonlySet<string>
  readonly partitions: readonly PartitionEvidence[]
  readonly effects: readonly Effect[]
  readonly deadLetters: number
  readonly harms: readonly ProcessHarm[]
  readonly leaseMs: number
}
