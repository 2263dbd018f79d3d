import type { Cell } from '../cell.ts'
import { MOMENT_OF } from '../moment.ts'
import { cellsOf } from './table.ts'

const MEMBERS = 3
const ONCE = '1 or 1s / 1 or 1s / 1 or 1s / 1 or 1s'

/**
 * F22: one of three members loses its store, or its broker, and never gets it back. The two others take over what it had, and handle
 * what comes later. It ends when it is told to, all the same.
 */
export const CUT_OFF_FOR_GOOD: readonly Cell[] = [
  // What the silent member asked for arrives. Its transaction or lease ends, and another member takes the message.
  ...cellsOf(
    'F22',
    {
      S1: {
        inbox: '1',
        'lease-rerun': '1 or B',
        'lease-keyed': '1 or B',
        'lease-park': 'in doubt',
        'lease-postgres': '1 or B',
        offsets: '1',
      },
      S3: {
        inbox: '1',
        'lease-rerun': 'D',
        'lease-keyed': 'k',
        'lease-park': 'in doubt',
        'lease-postgres': 'D',
        offsets: '1',
      },
      S4: {
        inbox: '1 or 1s',
        'lease-rerun': '1 or 1s',
        'lease-keyed': '1 or 1s',
        'lease-park': '1 or 1s',
        'lease-postgres': '1 or 1s',
        offsets: '1 or 1s',
      },
    },
    (step) => ({
      fault: { kind: 'cut-off-for-good', from: 'store', at: MOMENT_OF[step] },
      members: MEMBERS,
      neighbours: 3,
      mustReport: 'stepped-aside',
      tuning: { leaveAfterMs: 2_000 },
    }),
    'store',
  ),
  // Its handler ends and marks. Only the settle is lost.
  ...cellsOf(
    'F22',
    { S1: ONCE, S3: ONCE, S5: ONCE, S6: ONCE },
    (step) => ({
      fault: { kind: 'cut-off-for-good', from: 'broker', at: MOMENT_OF[step] },
      members: MEMBERS,
      neighbours: 3,
    }),
    'broker',
  ),
]
