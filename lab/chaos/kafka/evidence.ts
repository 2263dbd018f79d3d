import type { EvidenceOfEffects } from '../evidence.ts'

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

export interface PartitionEvidence {
  /** `undefined` where no message is: at the end of a transaction. */
  readonly log: readonly (LoggedMessage | undefined)[]
  /** In the order of the log of `__consumer_offsets`. */
  readonly commits: readonly OffsetCommit[]
  /** Committed offset of the group at the end; negative: none. */
  readonly committed: number
}

/** What became of a transaction, as far as its producer knows. `unknown`: nobody answered it. */
export interface TransactionEvidence {
  readonly fate: 'committed' | 'aborted' | 'unknown'
  readonly ids: readonly string[]
}

export interface Evidence extends EvidenceOfEffects {
  /** IDs that a leader, with the others in sync, said to have written. */
  readonly acknowledged: ReadonlySet<string>
  readonly partitions: readonly PartitionEvidence[]
  readonly deadLetters: number
  readonly transactions: readonly TransactionEvidence[]
  /** The topic that any replica may lead, however far it is behind. */
  readonly unclean: {
    readonly partitions: readonly PartitionEvidence[]
    /** IDs that a leader said to have written. The log may have lost them since. */
    readonly acknowledged: ReadonlySet<string>
  }
}
