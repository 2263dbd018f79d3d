import type { AsideStory, Cause, Digest, Key, OwnerToken, Result } from '../../src/core/record.ts'
import { MemoryHistory } from '../../src/memory/history.ts'
import type { EpochMs } from '../../src/core/units.ts'

/**
 * The database of a `MemoryInbox`, which outlives its processes: pass it to the store of each. Nothing in it expires.
 */
export class InboxDatabase<Effect = string> {
  readonly rows: Map<Key, InboxRow> = new Map()
  /** Counted starts, committed apart from the transaction of the effect. */
  readonly attempts: Map<Key, number> = new Map()
  /**
   * Token of the claim that counted last: a claim that is sent again counts once, and only its own attempt is given
   * back.
   */
  readonly countedBy: Map<Key, OwnerToken> = new Map()
  /** Data kept with counted attempts. A person's decision, or a record, removes it. */
  readonly tried: Map<Key, TriedBefore> = new Map()
  /** Keys that a person has let run, until they are marked or set aside. */
  readonly known: Set<Key> = new Set()
  /** Committed effects, in the order of their commits. */
  readonly effects: Effect[] = []
  /** People's decisions, replays, and when each scope was first claimed. */
  readonly history: MemoryHistory = new MemoryHistory()
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
