import type { Promised } from '../../../testing/checker/anomaly.ts'
import type { TestId } from '../listed-tests.ts'

/** A row of the table of docs/guarantees.md: what one strategy promises, and what shows it. */
export interface Guarantee {
  /** Its first cell, as it is written there. */
  readonly strategy: string
  /** One for each column of `COLUMNS`. */
  readonly claims: readonly [lost: Claim, runs: Claim, databaseEffect: Claim, externalEffect: Claim]
  /** The last cell, cause by cause. */
  readonly breaksWhen: readonly Claim[]
}

export const COLUMNS = ['message lost?', 'handler runs > 1?', 'database effect > 1?', 'external effect > 1?'] as const
export const BREAKS_WHEN = 'breaks when'

/** A statement of the table, and its evidence: a limit is shown by a test that runs into it. */
export interface Claim {
  /** As docs/guarantees.md says it. */
  readonly says: string
  readonly tests?: readonly TestId[]
  /** Cells of `npm run faults`; * stands for anything. */
  readonly faults?: readonly string[]
  /** Judged by this in each schedule of `npm run sim` that draws it. */
  readonly simulated?: Promised
  /** Cells of `npm run model`. */
  readonly models?: readonly string[]
  /** The part without evidence, and why. */
  readonly notShown?: string
}

/** Cells of these faults, at whatever step, on either broker: `cellsOf('inbox', 'F1 F2')`. */
export function cellsOf(strategy: string, faults: string): readonly string[] {
  return faults.split(' ').map((fault) => `${fault}.*.${strategy}.*`)
}
