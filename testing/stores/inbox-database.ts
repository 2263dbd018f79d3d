import type { Key, OwnerToken, Result } from '../../src/core/record.ts'

/** What outlives the processes of a `MemoryInbox`: give it to the store of each. Nothing in it ends by time. */
export class InboxDatabase<Effect = string> {
  readonly rows: Map<Key, InboxRow> = new Map()
  /** Starts that were counted, committed apart from the transaction of the effect. */
  readonly attempts: Map<Key, number> = new Map()
  /** Whose claim counted last: one that is sent again counts once, and only its own attempt is given back. */
  readonly countedBy: Map<Key, OwnerToken> = new Map()
  /** What a person has let run, until it is marked or set aside. */
  readonly known: Set<Key> = new Set()
  /** Committed, in the order of their commits. */
  readonly effects: Effect[] = []
  /** Keys that an open transaction has inserted. */
  readonly locks: Map<Key, Lock> = new Map()
}

export interface InboxRow {
  readonly digest: string
  readonly outcome: 'done' | 'given-up' | 'parked'
  readonly reason: string
  readonly result?: Result | undefined
}

interface Lock {
  /** Resolves when the transaction that holds it has ended. */
  readonly ended: Promise<void>
}
