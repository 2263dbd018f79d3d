import type { Key } from '../../src/core/record.ts'
import type { EpochMs } from '../../src/core/units.ts'
import type { TransactionClaim } from '../../src/ports/store.ts'
import { MemoryTransaction } from './memory-transaction.ts'

/** A transaction with its granted positions. */
export class OffsetsTransaction<Tx, Effect> extends MemoryTransaction<Tx, Effect> {
  /** The granted offsets of each stream, and its position at the claim. */
  readonly streams: Map<string, GrantedStream> = new Map()
  readonly #positions = new Map<Key, Place>()

  claimed({ key, ...place }: Place & { readonly key: Key }, next: bigint): void {
    const { stream, offset } = place
    this.#positions.set(key, place)
    const offsets = [...(this.streams.get(stream)?.offsets ?? []), offset]
    this.streams.set(stream, { next, offsets })
  }

  /** The last message of a stream that is not given back; `undefined`: all are. */
  lastBegun(stream: string, givenBack: { has(key: Key): boolean }): Place | undefined {
    let last: Place | undefined
    for (const [key, place] of this.#positions) if (place.stream === stream && !givenBack.has(key)) last = place
    return last
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
}

interface Place {
  /** Its name in the database. */
  readonly stream: string
  readonly offset: bigint
  readonly timestamp: EpochMs | undefined
}
