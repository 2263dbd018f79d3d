import type { Cell } from '../cell.ts'
import { cellsOfWhole } from './table.ts'

/**
 * F18: while a handler runs, the worker cannot reach its store for longer than the lease, but reaches its broker. The lease cannot be
 * renewed, so the handler is aborted before the lease ends.
 */
export const CUT_OFF: readonly Cell[] = [
  // The effect has happened, and once the lease has ended nobody knows.
  ...cellsOfWhole(
    'F18',
    'after-effect',
    {
      inbox: '1 or 1s',
      'lease-rerun': 'D',
      'lease-keyed': 'k',
      'lease-park': 'in doubt',
      'lease-postgres': 'D',
      offsets: '1 or 1s',
    },
    (_, strategy) => ({
      fault: { kind: 'cut-off-store', at: 'effect applied' },
      message: 'outlast',
      // A transaction has no lease.
      mustAbortInTime: strategy !== 'inbox' && strategy !== 'offsets',
    }),
  ),
]
