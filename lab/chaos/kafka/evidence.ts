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
  readonly log: readonly LoggedMessage[]
  /** In the order of the log of `__consumer_offsets`. */
  readonly commits: readonly OffsetCommit[]
  /** Committed offset of the group at the end; negative: none. */
  readonly committed: number
}

export interface Evidence extends EvidenceOfEffects {
  /** IDs that a leader, with the others in sync, said to have written. */
  readonly acknowledged: ReadonlySet<string>
  readonly partitions: readonly PartitionEvidence[]
  readonly deadLetters: number
}
