import type { Cell } from '../cell.ts'
import { cellsOfWhole } from './table.ts'

/**
 * F18: the worker reaches its broker, and not its store, for longer than the lease, while a handler runs. Nobody can renew the lease, so
 * the handler is aborted before it ends.
 */
export const CUT_OFF: readonly Cell[] = [
  // It has had its effect: nobody knows, once the lease has ended.
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
