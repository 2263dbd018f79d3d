import type { PositionRecord } from '../../src/core/position.ts'
import type { OwnerToken } from '../../src/core/record.ts'
import type { EpochMs } from '../../src/core/units.ts'

/** What outlives the processes of a `MemoryOffsets`: give it to the store of each. */
export class OffsetsDatabase<Effect = string> {
  rows: Map<string, OffsetsRow> = new Map()
  /** Committed, in the order of their commits. */
  readonly effects: Effect[] = []
  /** Streams of which an open transaction has claimed. */
  readonly holders: Map<string, Holder> = new Map()

  /** Under which a stream is kept. */
  nameOf(scope: string, stream: string): string {
    return `${scope} ${stream}`
  }

  /** What `restore` brings back. */
  backup(): Pick<OffsetsDatabase<Effect>, 'rows' | 'effects'> {
    return { rows: new Map(this.rows), effects: [...this.effects] }
  }

  /** Transactions that are open die with the old database. */
  restore({ rows, effects }: Pick<OffsetsDatabase<Effect>, 'rows' | 'effects'>): void {
    for (const holder of new Set(this.holders.values())) holder.end('rolled-back')
    this.rows = new Map(rows)
    this.effects.splice(0, Number.POSITIVE_INFINITY, ...effects)
  }
}

export interface OffsetsRow extends PositionRecord {
  /** The claim that moved it or set it aside last. */
  readonly movedBy: OwnerToken
  /** Of the message right before `next`. */
  readonly timestamp?: EpochMs | undefined
}

interface Holder {
  /** Resolves when the transaction that holds it has ended. */
  readonly ended: Promise<void>
  end(state: 'rolled-back'): void
}
