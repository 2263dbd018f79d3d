import type { Cell } from '../cell.ts'
import { cellsOfWhole } from './table.ts'

/** F21: a function for a client of the user's own waits for the store, and says so; the client neither loses messages nor repeats them. */
export const STORE_AWAY: readonly Cell[] = cellsOfWhole('F21', 'drop-in', '1 / 1', () => ({
  fault: { kind: 'store-away', at: 'delivered' },
  crowd: 5,
  mustTell: 'store-not-opened',
  tuning: { isDropIn: true },
}))
