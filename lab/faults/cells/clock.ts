import type { Cell } from '../cell.ts'
import { cellsOfWhole } from './table.ts'

const SHIFTS = { behind: -120_000, ahead: 3_600_000 }

/** F14: the clock of the first worker is wrong and that of the second is right. Leases use the clock of the store. */
export const CLOCK: readonly Cell[] = Object.entries(SHIFTS).flatMap(([variant, clockShiftMs]) => [
  ...cellsOfWhole('F14', variant, '1 / 1 / 1 / 1', () => ({ fault: { kind: 'none' }, tuning: { clockShiftMs } })),
  ...cellsOfWhole('F14', `${variant}-killed`, '1 / B / B / in doubt', () => ({
    fault: { kind: 'kill', at: 'claimed', request: 'arrives' },
    tuning: { clockShiftMs },
  })),
])
