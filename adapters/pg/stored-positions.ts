import type { Positions, StreamPosition } from '../../src/index.ts'
import type { Place } from './place.ts'
import { passOffset } from './sql/pass-offset.ts'
import { readPositions } from './sql/read-positions.ts'

/** Positions outside of claims. */
export class StoredPositions implements Positions {
  readonly #placeOf: (scope: string) => Promise<Place>

  constructor(placeOf: (scope: string) => Promise<Place>) {
    this.#placeOf = placeOf
  }

  async next(scope: string, streams: readonly string[]): Promise<ReadonlyMap<string, bigint>> {
    const place = await this.#placeOf(scope)
    const rows = await place.sessions.committed(readPositions(place.tables, place.scope, streams))
    return new Map(rows.map(({ stream, next }) => [stream, BigInt(next)]))
  }

  async pass(scope: string, { stream, offset }: StreamPosition): Promise<void> {
    const place = await this.#placeOf(scope)
    await place.sessions.committed(passOffset(place.tables, { scope: place.scope, stream, offset }))
  }
}
