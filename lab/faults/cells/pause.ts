import type { Cell } from '../cell.ts'
import { cellsOf, isBeforeItArrives } from './table.ts'
import { MOMENT_OF } from '../moment.ts'

/** F2: SIGSTOP for twice the lease. Another worker gets the message meanwhile; then the first worker resumes. */
export const PAUSE: readonly Cell[] = cellsOf(
  'F2',
  {
    // kafkajs fetches again when it resumes.
    S0: '1 or 1s / 1 or 1s / 1 or 1s',
    // kafkajs does not know yet that it lost its partition: the worker asks the store again, which answers `done`.
    S1: '1 or 1s / B or 1s / B or 1s / in doubt',
    // The worker checks its local lease deadline again before the handler starts.
    S2: '1 or 1s / B or 1s / B or 1s / in doubt',
    S3: '1 or 1s / D / k / in doubt',
    // The store refuses the late mark.
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
