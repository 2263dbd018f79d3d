import type { Cell } from '../cell.ts'
import { MOMENT_OF } from '../moment.ts'
import { cellsOf, isBeforeItArrives, type Made } from './table.ts'

const ONCE = { inbox: '1 or 1s', 'lease-rerun': '1 or 1s', 'lease-keyed': '1 or 1s', offsets: '1 or 1s' }
const CROWD = 6

/**
 * F24: transactions of several producers interleave in one partition. What was committed is handled, also behind what was aborted, and
 * behind a transaction that stays open until the fault has healed. What was aborted, or belongs to a producer that is gone, is not.
 */
export const TRANSACTIONAL: readonly Cell[] = [
  ...cellsOf(
    'F24',
    {
      S1: { inbox: '1', 'lease-rerun': 'B', 'lease-keyed': 'B', 'lease-park': 'in doubt', offsets: '1' },
      S3: { inbox: '1', 'lease-rerun': 'D', 'lease-keyed': 'k', 'lease-park': 'in doubt', offsets: '1' },
      S4: { inbox: '1', 'lease-rerun': 'D', 'lease-keyed': 'k', 'lease-park': 'in doubt', offsets: '1' },
      S5: { inbox: '1s', 'lease-rerun': '1s', 'lease-keyed': '1s', offsets: '1 or 1s' },
      S6: { inbox: '1s', 'lease-rerun': '1s', 'lease-keyed': '1s', offsets: '1 or 1s' },
    },
    (step, broker) =>
      broker === 'kafka'
        ? among({
            fault: { kind: 'kill', at: MOMENT_OF[step], request: isBeforeItArrives(step) ? 'is lost' : 'arrives' },
          })
        : undefined,
    'killed',
  ),
  ...cellsOf(
    'F24',
    { S2: ONCE, S3: ONCE, S5: ONCE },
    (step, broker) =>
      broker === 'kafka' ? among({ fault: { kind: 'close-channel', at: MOMENT_OF[step] } }) : undefined,
    'closed',
  ),
  ...cellsOf(
    'F24',
    { S2: { ...ONCE, 'lease-rerun': '1 or 1s or B or D', 'lease-keyed': '1 or 1s or B or k' } },
    (step, broker) =>
      broker === 'kafka'
        ? among({ fault: { kind: 'rebalance', at: MOMENT_OF[step], guests: 'stays' }, message: 'linger' })
        : undefined,
    'rebalanced',
  ),
]

function among(made: Made): Made {
  return { ...made, crowd: CROWD, neighbours: 2, isTransactional: true }
}
