import type { Cell } from '../cell.ts'
import { cellsOfWhole, type Row } from './table.ts'
import type { Spoilt } from '../fault.ts'
import type { Strategy } from '../strategy.ts'

const PARKED = 'in doubt'

const STORES: Readonly<Record<Spoilt, Row>> = {
  'other-type': { 'lease-rerun': PARKED, 'lease-park': PARKED },
  'cut-off': { 'lease-rerun': PARKED },
  newer: { inbox: PARKED, 'lease-rerun': PARKED, 'lease-postgres': PARKED },
}

/** In Postgres the first claim writes the row of the scope that a record belongs to. */
function momentOf(strategy: Strategy): 'delivered' | 'claim sent' {
  return strategy === 'inbox' || strategy === 'lease-postgres' ? 'claim sent' : 'delivered'
}

/** F19: the record of one message is unreadable. Only that message is set aside; messages claimed with it are handled. */
export const UNREADABLE: readonly Cell[] = Object.entries(STORES).flatMap(([how, row]) =>
  cellsOfWhole('F19', how, row, (_, strategy) => ({
    fault: { kind: 'spoil-record', at: momentOf(strategy), how: how as Spoilt },
    crowd: 5,
    reason: 'record-unreadable',
  })),
)
