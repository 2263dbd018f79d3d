import type { Cell } from '../cell.ts'
import { cellsOf, isBeforeItArrives } from './table.ts'
import { MOMENT_OF } from '../moment.ts'

/** F2: SIGSTOP for twice the lease; another worker gets the message meanwhile, and the first goes on after that. */
export const PAUSE: readonly Cell[] = cellsOf(
  'F2',
  {
    // Kafka's client fetches again when it goes on.
    S0: '1 or 1s / 1 or 1s / 1 or 1s',
    // The client of Kafka does not know yet that its partition is gone: the worker asks the store again, and hears that it is done.
    S1: '1 or 1s / B or 1s / B or 1s / in doubt',
    // The lease's local deadline is looked at once more before the handler starts.
    S2: '1 or 1s / B or 1s / B or 1s / in doubt',
    S3: '1 or 1s / D / k / in doubt',
    // The late mark is refused.
    S4: '1 or 1s / D / k / in doubt',
    // Marked and not settled.
    S5: '1s / 1s / 1s',
    S6: '1s / 1s / 1s',
    S7: '1 / 1 / 1',
  },
  (step) => ({
    fault: { kind: 'freeze', at: MOMENT_OF[step], request: isBeforeItArrives(step) ? 'is held' : 'arrives' },
  }),
)
