import type { Cell } from '../cell.ts'
import { cellsOf, type Table } from './table.ts'
import { MOMENT_OF } from '../moment.ts'

const ONCE = { inbox: '1 or 1s', 'lease-postgres': '1 or 1s', offsets: '1 or 1s' }

/** Whoever was told nothing finds the row, or runs once more: its first transaction did not commit. */
const UNKNOWN: Table = { S0: ONCE, S1: ONCE, S2: ONCE, S3: ONCE, S4: ONCE, S5: ONCE, S6: ONCE, S7: ONCE }

/** F10: the backends of the worker are terminated, or Postgres is restarted at once. The process of the worker lives on. */
export const BACKEND: readonly Cell[] = [
  ...cellsOf('F10', UNKNOWN, (step) => ({ fault: { kind: 'terminate-backends', at: MOMENT_OF[step] } }), 'terminated'),
  ...cellsOf('F10', UNKNOWN, (step) => ({ fault: { kind: 'restart-postgres', at: MOMENT_OF[step] } }), 'restarted'),
]

/**
 * F11: a replica is promoted that has neither effect nor mark. What is settled by then comes never again to an inbox: the limit of
 * its promise. A stored position goes back with the effect, and what lies behind it is handled again.
 */
export const TAIL_LOST: readonly Cell[] = cellsOf(
  'F11',
  {
    S5: { inbox: '1', offsets: '1' },
    S6: { inbox: 'lost', offsets: '1' },
    S7: { inbox: 'lost', offsets: '1' },
  },
  (step, _, strategy) => {
    const isLost = strategy === 'inbox' && step !== 'S5'
    return {
      fault: {
        kind: 'promote-postgres',
        lagsFrom: 'mark sent',
        at: MOMENT_OF[step],
        worker: step === 'S5' ? 'is killed' : 'stays',
      },
      ...(isLost ? { mustShow: 'A1 lost' } : {}),
    }
  },
)
