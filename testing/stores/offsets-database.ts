import type { PositionRecord } from '../../src/core/position.ts'
import type { OwnerToken } from '../../src/core/record.ts'
import type { EpochMs } from '../../src/core/units.ts'

/** The database of a `MemoryOffsets`, which outlives its processes: pass it to the store of each. */
export class OffsetsDatabase<Effect = string> {
  rows: Map<string, OffsetsRow> = new Map()
  /** Committed effects, in the order of their commits. */
  readonly effects: Effect[] = []
  /** Streams that an open transaction has claimed. */
  readonly holders: Map<string, Holder> = new Map()

  /** The key of a stream in `rows` and `holders`. */
  nameOf(scope: string, stream: string): string {
    return `${scope} ${stream}`
  }

  /** A copy for `restore`. */
  backup(): Pick<OffsetsDatabase<Effect>, 'rows' | 'effects'> {
    return { rows: new Map(this.rows), effects: [...this.effects] }
  }

  /** Open transactions end with the old database. */
  restore({ rows, effects }: Pick<OffsetsDatabase<Effect>, 'rows' | 'effects'>): void {
    for (const holder of new Set(this.holders.values())) holder.end('rolled-back')
    this.rows = new Map(rows)
    this.effects.splice(0, Number.POSITIVE_INFINITY, ...effects)
  }
}

export interface OffsetsRow extends PositionRecord {
  /** The claim that moved it or set it aside last. */
  readonly movedBy: OwnerToken
  /** Time of the message right before `next`. */
  readonly timestamp?: EpochMs | undefined
}

interface Holder {
  /** Resolves when the transaction that holds it has ended. */
  readonly ended: Promise<void>
  end(state: 'rolled-back'): void
}
