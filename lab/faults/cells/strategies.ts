import type { Cell } from '../cell.ts'
import { CRASH } from './crash.ts'
import { REPLY_LOST } from './lost.ts'
import { cellsOf } from './table.ts'
import { MOMENT_OF } from '../moment.ts'

/** Of each kind of store what its promise differs in; the rest is that of the others. */
export const FURTHER: readonly Cell[] = [
  ...cellsOf(
    'F1',
    {
      S0: { 'lease-postgres': '1', offsets: '1' },
      S1: { 'lease-postgres': 'B', offsets: '1' },
      S2: { 'lease-postgres': 'B', offsets: '1' },
      S3: { 'lease-postgres': 'D', offsets: '1' },
      S4: { 'lease-postgres': 'D', offsets: '1' },
      // Whoever comes next begins where the position stands.
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
  // A mark that has waited for its replica outlives the failover to it.
  ...cellsOf(
    'F9',
    { S5: { 'lease-replicas': '1s' }, S6: { 'lease-replicas': '1s' } },
    (step) => ({ fault: { kind: 'promote-redis', at: MOMENT_OF[step], worker: 'is killed' } }),
    'failover',
  ),
]

/** The harm of that step there. */
function as(cells: readonly Cell[], step: Cell['step']): Pick<Cell, 'fault'> | undefined {
  const found = cells.find((cell) => cell.step === step)
  return found && { fault: found.fault }
}
