import type { Cell } from '../cell.ts'
import { cellsOf, cellsOfWhole } from './table.ts'
import { MOMENT_OF } from '../moment.ts'

const ONCE = '1 or 1s / 1 or 1s / 1 or 1s'

/** F6: all connections of the worker to the broker break. Only the settle fails: a handler that has finished still marks. */
export const CHANNEL: readonly Cell[] = cellsOf(
  'F6',
  { S0: '1 or 1s / 1 or 1s or B / 1 or 1s or B', S1: ONCE, S2: ONCE, S3: ONCE, S4: ONCE, S5: ONCE, S6: ONCE, S7: ONCE },
  (step) => ({ fault: { kind: 'close-channel', at: MOMENT_OF[step] } }),
)

const AGAIN = { times: 6, everyMs: 700 }

/**
 * F6, repeated while the handler runs: its transaction continues, and each redelivery waits for it. The attempts of a handler that
 * never ends are counted as well.
 */
export const CHANNEL_AGAIN: readonly Cell[] = [
  ...cellsOfWhole('F6', 'again', { inbox: '1 or 1s', offsets: '1 or 1s' }, () => ({
    fault: { kind: 'close-channel', at: 'claimed', again: AGAIN },
    message: 'linger',
    mostRuns: 1,
  })),
  ...cellsOfWhole('F6', 'again-hangs', { inbox: 'dead-lettered', offsets: 'dead-lettered' }, () => ({
    fault: { kind: 'close-channel', at: 'claimed', again: { times: 20, everyMs: 700 } },
    message: 'hang always',
    mostRuns: 2,
    tuning: { handlerTimeoutMs: 2_000, graceMs: 500, maxAttempts: 2 },
  })),
]

/** F12: the broker refuses a commit. The library counts the refusal, and does not throw it into a handler. */
export const COMMIT: readonly Cell[] = cellsOf('F12', { S6: ONCE }, (_, broker) =>
  broker === 'kafka' ? { fault: { kind: 'refuse-commit', at: 'settle sent' } } : undefined,
)

const MOVED = '1 or 1s / 1 or 1s or B or D / 1 or 1s or B or k'

/** F13: another member joins while the handler runs, and stays, or leaves and joins again. */
export const REBALANCE: readonly Cell[] = [
  ...cellsOf('F13', { S0: MOVED, S1: MOVED, S2: MOVED, S3: MOVED, S4: ONCE, S5: ONCE, S6: ONCE }, (step) => ({
    fault: { kind: 'rebalance', at: MOMENT_OF[step], guests: 'stays' },
    message: 'linger',
  })),
  ...cellsOfWhole('F13', 'storm', MOVED, () => ({
    fault: { kind: 'rebalance', at: 'claimed', guests: 'storm' },
    message: 'linger',
  })),
]
