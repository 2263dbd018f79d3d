import type { Cell } from '../cell.ts'
import { cellsOf, type Made } from './table.ts'
import { MOMENT_OF, type Step } from '../moment.ts'

const ONCE = '- / 1 / 1 / 1'

/** F8: Redis is frozen for twice the lease. No worker can claim meanwhile, and Redis executes pending requests when it resumes. */
export const FROZEN: readonly Cell[] = cellsOf('F8', { S1: ONCE, S2: ONCE, S3: ONCE, S4: ONCE, S5: ONCE }, (step) => ({
  fault: { kind: 'freeze-redis', at: MOMENT_OF[step] },
}))

/** A worker that has not marked yet still marks: no other owner exists, and the effect happened. A redelivery finds no record. */
const FORGOTTEN = {
  S0: ONCE,
  S1: ONCE,
  S2: ONCE,
  S3: ONCE,
  S4: ONCE,
  S5: '- / D / k / D',
  S6: '- / D / k / D',
  S7: '- / D / k / D',
}

/** A replica that has the claim and not the mark leaves the message in doubt. */
const LAGGING = {
  S2: ONCE,
  S3: ONCE,
  S4: ONCE,
  S5: '- / D / k / in doubt',
  S6: '- / D / k / in doubt',
  S7: '- / D / k / in doubt',
}

/** F9: Redis loses the mark, and the message comes again: from the broker, or sent again by its producer. */
export const FORGETTING: readonly Cell[] = [
  ...(['emptied', 'flushed'] as const).flatMap((how) =>
    cellsOf(
      'F9',
      FORGOTTEN,
      // The broker does the same, however the store lost its records.
      (step, broker): Made | undefined =>
        how === 'emptied' && broker === 'kafka'
          ? undefined
          : { ...after(step), fault: { kind: 'lose-records', how, ...whereOf(step) } },
      how,
    ),
  ),
  ...cellsOf(
    'F9',
    LAGGING,
    (step): Made => ({
      ...after(step),
      fault: { kind: 'promote-redis', lagsFrom: isMarked(step) ? 'mark sent' : 'claim sent', ...whereOf(step) },
    }),
    'promoted',
  ),
]

function whereOf(step: Step) {
  return { at: MOMENT_OF[step], worker: step === 'S5' || step === 'S6' ? 'is killed' : 'stays' } as const
}

function after(step: Step): Omit<Made, 'fault'> {
  if (!isMarked(step)) return {}
  const admitted = ['A2 duplicate attempt', 'A2 duplicate accepted'] as const
  return step === 'S7' ? { admitted, isSentAgain: true, tuning: { resendsDiffer: true } } : { admitted }
}

function isMarked(step: Step): boolean {
  return step === 'S5' || step === 'S6' || step === 'S7'
}
