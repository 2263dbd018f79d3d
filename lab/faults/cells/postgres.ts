import type { Cell } from '../cell.ts'
import { cellsOf, type Table } from './table.ts'
import { MOMENT_OF } from '../moment.ts'

const ONCE = { inbox: '1 or 1s', 'lease-postgres': '1 or 1s', offsets: '1 or 1s' }

/** A worker that got no answer finds the row, or runs again because its first transaction did not commit. */
const UNKNOWN: Table = { S0: ONCE, S1: ONCE, S2: ONCE, S3: ONCE, S4: ONCE, S5: ONCE, S6: ONCE, S7: ONCE }

/** F10: an administrator terminates the backends of the worker, or Postgres restarts at once. The worker process survives. */
export const BACKEND: readonly Cell[] = [
  ...cellsOf('F10', UNKNOWN, (step) => ({ fault: { kind: 'terminate-backends', at: MOMENT_OF[step] } }), 'terminated'),
  ...cellsOf('F10', UNKNOWN, (step) => ({ fault: { kind: 'restart-postgres', at: MOMENT_OF[step] } }), 'restarted'),
]

/**
 * F11: a replica without effect and mark is promoted. An inbox never sees a message again that was settled by then: this is the limit
 * of its promise. A stored position goes back together with the effect, and the messages after it are handled again.
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
