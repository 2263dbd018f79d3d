import type { Cell } from '../cell.ts'
import { cellsOf } from './table.ts'
import { MOMENT_OF } from '../moment.ts'
import { REPLY_LOST } from './network.ts'
import { CRASH } from './process.ts'

/** The cells in which the other stores differ from the usual strategies. */
export const FURTHER: readonly Cell[] = [
  ...cellsOf(
    'F1',
    {
      S0: { 'lease-postgres': '1', offsets: '1' },
      S1: { 'lease-postgres': 'B', offsets: '1' },
      S2: { 'lease-postgres': 'B', offsets: '1' },
      S3: { 'lease-postgres': 'D', offsets: '1' },
      S4: { 'lease-postgres': 'D', offsets: '1' },
      // The next worker starts at the stored position.
      S5: { 'lease-postgres': '1s', offsets: '1 or 1s' },
      S6: { 'lease-postgres': '1s', offsets: '1 or 1s' },
    },
    (step) => as(CRASH, step),
  ),
  ...cellsOf(
    'F4',
    {
      S1: { 'lease-postgres': '1', offsets: '1' },
      S3: { 'lease-postgres': 'D', offsets: '1' },
      S4: { 'lease-postgres': '1', offsets: '1 or 1s' },
    },
    (step) => as(REPLY_LOST, step),
  ),
  // A mark that waited for its replica survives the failover to it.
  ...cellsOf(
    'F9',
    { S5: { 'lease-replicas': '1s' }, S6: { 'lease-replicas': '1s' } },
    (step) => ({ fault: { kind: 'promote-redis', at: MOMENT_OF[step], worker: 'is killed' } }),
    'failover',
  ),
]

/** The fault of the cell with this step. */
function as(cells: readonly Cell[], step: Cell['step']): Pick<Cell, 'fault'> | undefined {
  const found = cells.find((cell) => cell.step === step)
  return found && { fault: found.fault }
}
