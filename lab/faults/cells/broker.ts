import type { Cell } from '../cell.ts'
import { cellsOf } from './table.ts'
import { MOMENT_OF } from '../moment.ts'

const ONCE = '1 or 1s / 1 or 1s / 1 or 1s / 1 or 1s'

/** F7: the broker stops and starts again on its data. As in F6, only the settle fails. */
export const BROKER_RESTART: readonly Cell[] = cellsOf(
  'F7',
  { S0: ONCE, S1: ONCE, S2: ONCE, S3: ONCE, S4: ONCE, S5: ONCE, S6: ONCE, S7: ONCE },
  (step) => ({ fault: { kind: 'restart-broker', at: MOMENT_OF[step] } }),
)
