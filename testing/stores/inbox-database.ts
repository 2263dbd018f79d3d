import type { AsideStory, Cause, Digest, Key, OwnerToken, Result } from '../../src/core/record.ts'
import type { EpochMs } from '../../src/core/units.ts'

/** What outlives the processes of a `MemoryInbox`: give it to the store of each. Nothing in it ends by time. */
export class InboxDatabase<Effect = string> {
  readonly rows: Map<Key, InboxRow> = new Map()
  /** Starts that were counted, committed apart from the transaction of the effect. */
  readonly attempts: Map<Key, number> = new Map()
  /** Whose claim counted last: one that is sent again counts once, and only its own attempt is given back. */
  readonly countedBy: Map<Key, OwnerToken> = new Map()
  /** What is kept with attempts that were counted: a decision of a person ends it, and so does a record. */
  readonly tried: Map<Key, TriedBefore> = new Map()
  /** What a person has let run, until it is marked or set aside. */
  readonly known: Set<Key> = new Set()
  /** Committed, in the order of their commits. */
  readonly effects: Effect[] = []
  /** Keys that an open transaction has inserted. */
  readonly locks: Map<Key, Lock> = new Map()
}

export interface InboxRow extends AsideStory {
  readonly digest: string
  readonly outcome: 'done' | 'given-up' | 'parked'
  readonly result?: Result | undefined
}

interface TriedBefore {
  readonly digest: Digest
  readonly notBefore?: EpochMs | undefined
  readonly cause?: Cause | undefined
}

interface Lock {
  /** Resolves when the transaction that holds it has ended. */
  readonly ended: Promise<void>
}
