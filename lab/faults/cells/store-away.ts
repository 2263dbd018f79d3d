import type { Cell } from '../cell.ts'
import { cellsOfWhole } from './table.ts'

/** F21: a drop-in function waits for its store and reports it. The client neither loses nor repeats messages. */
export const STORE_AWAY: readonly Cell[] = cellsOfWhole('F21', 'drop-in', '1 / 1', () => ({
  fault: { kind: 'store-away', at: 'delivered' },
  crowd: 5,
  mustReport: 'store-not-opened',
  tuning: { isDropIn: true },
}))
