import type {
  HeldAt,
  HoldRelease,
  HoldVerdict,
  ListedPosition,
  Positions,
  Reason,
  StoredPosition,
  StreamPosition,
} from '../../../src/spi.ts'
import type { PgPlace } from '../database.ts'
import { storable } from '../../sql/errors.ts'
import { isUnstorable } from '../sql-errors.ts'
import { endHold, holdPosition, releaseHold } from './statements/hold-position.ts'
import { listPositions } from './statements/list-positions.ts'
import { passOffset } from './statements/pass-offset.ts'
import { readPositions, type PositionRow } from './statements/read-positions.ts'

/** Operations on positions outside of claims. */
export class StoredPositions implements Positions {
  readonly #placeOf: (scope: string) => Promise<PgPlace>

  constructor(placeOf: (scope: string) => Promise<PgPlace>) {
    this.#placeOf = placeOf
  }

  async next(scope: string, streams: readonly string[]): Promise<ReadonlyMap<string, StoredPosition>> {
    const place = await this.#placeOf(scope)
    const rows = await place.sessions.committed(readPositions(place.tables, place.scope, streams))
    return new Map(rows.map((row) => [row.stream, positionOf(row)]))
  }

  async pass(scope: string, position: StreamPosition): Promise<void> {
    const { sessions, tables, scope: id } = await this.#placeOf(scope)
    await sessions.committed(passOffset(tables, { ...position, scope: id }))
  }

  async hold(scope: string, at: HeldAt, why: Reason): Promise<void> {
    const { sessions, tables, scope: id } = await this.#placeOf(scope)
    await sessions.committed(holdPosition(tables, { ...at, scope: id }, why))
  }

  async prove(scope: string, at: HeldAt): Promise<void> {
    const { sessions, tables, scope: id } = await this.#placeOf(scope)
    await sessions.committed(endHold(tables, { ...at, scope: id }))
  }

  async list(scope: string): Promise<readonly ListedPosition[]> {
    const { sessions, tables, scope: id } = await this.#placeOf(scope)
    const rows = await sessions.committed(listPositions(tables, id))
    return rows.map((row) => ({
      stream: row.stream,
      ...positionOf(row),
      heldSince: row.held_since === null ? undefined : Number(row.held_since),
    }))
  }

  async release(scope: string, stream: string, { from, by, reason }: HoldRelease): Promise<HoldVerdict> {
    const { sessions, tables, scope: id } = await this.#placeOf(scope)
    const release = (how: Pick<HoldRelease, 'by' | 'reason'>): Promise<readonly { readonly verdict: HoldVerdict }[]> =>
      sessions.committed(releaseHold(tables, { scope: id, stream, from, ...how }))
    const [row] = await release({ by, reason }).catch((error: unknown) => {
      if (!isUnstorable(error)) throw error
      return release({ by: storable(by), reason: storable(reason) })
    })
    return row?.verdict ?? 'no-position'
  }
}

function positionOf({ next, timestamp, held }: Pick<PositionRow, 'next' | 'timestamp' | 'held'>): StoredPosition {
  return {
    next: BigInt(next),
    timestamp: timestamp === null ? undefined : Number(timestamp),
    held: held ?? undefined,
  }
}
