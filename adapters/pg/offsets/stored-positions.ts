import type { Positions, StoredPosition } from '../../../src/internal.ts'
import { answered, despiteEncoding } from '../../sql/errors.ts'
import type { StoreParts } from '../../sql/transaction-store.ts'
import type { PgPlace } from '../database.ts'
import type { PgTransaction } from '../tx/pg-transaction.ts'
import {
  endHold,
  holdPosition,
  listPositions,
  passOffset,
  readPositions,
  releaseHold,
  type PositionRow,
} from './statements/positions.ts'

/** Operations on positions outside of claims. */
export function storedPositions({ sessions: { errors }, database }: StoreParts<PgTransaction, PgPlace>): Positions {
  const at = <T>(what: string, scope: string, ask: (place: PgPlace) => Promise<T>): Promise<T> =>
    answered(errors, what, async () => ask(await database.placeOf(scope)))
  return {
    next: (name, streams) =>
      at('positions', name, async ({ sessions, tables, scope }) => {
        const rows = await sessions.committed(readPositions(tables, scope, streams))
        return new Map(rows.map((row) => [row.stream, positionOf(row)]))
      }),
    pass: (name, position) =>
      at('pass', name, async ({ sessions, tables, scope }) => {
        await sessions.committed(passOffset(tables, { ...position, scope }))
      }),
    hold: (name, held, why) =>
      at('hold', name, async ({ sessions, tables, scope }) => {
        await sessions.committed(holdPosition(tables, { ...held, scope }, why))
      }),
    prove: (name, held) =>
      at('prove', name, async ({ sessions, tables, scope }) => {
        await sessions.committed(endHold(tables, { ...held, scope }))
      }),
    list: (name) =>
      at('list', name, async ({ sessions, tables, scope }) => {
        const rows = await sessions.committed(listPositions(tables, scope))
        return rows.map((row) => ({
          stream: row.stream,
          ...positionOf(row),
          heldSince: row.held_since === null ? undefined : Number(row.held_since),
        }))
      }),
    release: (name, stream, { from, by, reason }) =>
      at('release', name, async ({ sessions, tables, scope }) => {
        const [row] = await despiteEncoding(errors, { by, reason }, (texts) =>
          sessions.committed(releaseHold(tables, { scope, stream, from, ...texts })),
        )
        return row?.verdict ?? 'no-position'
      }),
  }
}

function positionOf({ next, timestamp, held }: Pick<PositionRow, 'next' | 'timestamp' | 'held'>): StoredPosition {
  return {
    next: BigInt(next),
    timestamp: timestamp === null ? undefined : Number(timestamp),
    held: held ?? undefined,
  }
}
