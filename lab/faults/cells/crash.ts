import type { Cell } from '../cell.ts'
import { cellsOf, isBeforeItArrives } from './table.ts'
import { MOMENT_OF } from '../moment.ts'

/** F1: kill -9. The supervisor starts another worker. */
export const CRASH: readonly Cell[] = cellsOf(
  'F1',
  {
    S0: '1 / 1 / 1',
    S1: '1 / B / B / in doubt',
    S2: '1 / B / B / in doubt',
    S3: '1 / D / k / in doubt',
    S4: '1 / D / k / in doubt',
    S5: '1s / 1s / 1s',
    S6: '1s / 1s / 1s',
    // Settled for good, if the broker has received it.
    S7: '1 / 1 / 1',
  },
  (step) => ({
    fault: { kind: 'kill', at: MOMENT_OF[step], request: isBeforeItArrives(step) ? 'is lost' : 'arrives' },
  }),
)
