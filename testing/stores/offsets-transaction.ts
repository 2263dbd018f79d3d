import type { Key } from '../../src/core/record.ts'
import type { EpochMs } from '../../src/core/units.ts'
import type { TransactionClaim } from '../../src/ports/store.ts'
import { MemoryTransaction } from './memory-transaction.ts'

/** A transaction with its granted positions. */
export class OffsetsTransaction<Tx, Effect> extends MemoryTransaction<Tx, Effect> {
  readonly released: Set<Key> = new Set()
  /** The granted offsets of each stream, and its position at the claim. */
  readonly streams: Map<string, GrantedStream> = new Map()
  readonly #positions = new Map<Key, Place>()

  claimed({ key, stream, offset }: Place & { readonly key: Key }, next: bigint, timestamp?: EpochMs): void {
    this.#positions.set(key, { stream, offset })
    const offsets = [...(this.streams.get(stream)?.offsets ?? []), offset]
    this.streams.set(stream, { next, offsets, timestamp })
  }

  positionOf(key: Key): Place {
    const position = this.#positions.get(key)
    if (position === undefined) throw new TypeError('a claim that was not granted (memory-offsets)')
    return position
  }
}

/** The transaction that this store has opened for a claim. */
export function transactionOf<Tx, Effect = string>({
  transaction,
}: TransactionClaim<Tx>): OffsetsTransaction<Tx, Effect> {
  if (transaction instanceof OffsetsTransaction) return transaction as OffsetsTransaction<Tx, Effect>
  throw new TypeError('a claim of another store (memory-offsets)')
}

interface GrantedStream {
  readonly next: bigint
  readonly offsets: bigint[]
  /** Time of the message at the last of `offsets`. */
  readonly timestamp?: EpochMs | undefined
}

interface Place {
  /** Its name in the database. */
  readonly stream: string
  readonly offset: bigint
}
