import type { Cell } from '../cell.ts'
import { cellsOfWhole, type Made } from './table.ts'

const CROWD = 20
const MOVED = '1 or 1s / 1 or 1s or B or D / 1 or 1s or B or k'

/** The target is slow, and twenty more messages are handled, marked and settled around it. Nothing may be settled past it. */
function crowd(made: Made): () => Made {
  return () => ({ message: 'linger', crowd: CROWD, ...made })
}

/** Each message counts an attempt when the worker dies. None of them killed it, so they run at the same time again. */
const IN_FLIGHT = cellsOfWhole('F1', 'in-flight', '1 / D / k', () => ({
  fault: { kind: 'kill', at: 'effect applied', request: 'arrives' },
  message: 'linger',
  crowd: 5,
  crowdDoes: 'linger',
  mustRunTogether: 2,
  tuning: { batchSize: 1 },
}))

export const CROWDED: readonly Cell[] = [
  ...IN_FLIGHT,
  ...cellsOfWhole(
    'F1',
    'crowd',
    '1 / D / k / in doubt',
    crowd({ fault: { kind: 'kill', at: 'effect applied', request: 'arrives' } }),
  ),
  ...cellsOfWhole(
    'F2',
    'crowd',
    '1 or 1s / D / k / in doubt',
    crowd({ fault: { kind: 'freeze', at: 'mark sent', request: 'is held' } }),
  ),
  ...cellsOfWhole('F4', 'crowd', '1 or 1s / 1 / 1 / 1', crowd({ fault: { kind: 'lose', at: 'marked' } })),
  ...cellsOfWhole(
    'F6',
    'crowd',
    '1 or 1s / 1 or 1s / 1 or 1s',
    crowd({ fault: { kind: 'close-channel', at: 'claimed' } }),
  ),
  ...cellsOfWhole('F13', 'crowd', MOVED, crowd({ fault: { kind: 'rebalance', at: 'claimed', guests: 'storm' } })),
  // One message kills its process each time; the others are handled.
  ...cellsOfWhole(
    'F17',
    'crowd',
    'dead-lettered / in doubt / in doubt / in doubt',
    crowd({ fault: { kind: 'none' }, message: 'kill', mostRuns: 3, tuning: { maxAttempts: 3 } }),
  ),
  // The same, and the others are in flight whenever it kills the process.
  ...cellsOfWhole('F17', 'in-flight', 'dead-lettered / in doubt / in doubt', () => ({
    fault: { kind: 'none' },
    message: 'kill',
    crowd: 5,
    crowdDoes: 'linger',
    mostRuns: 2,
    reason: 'attempts-spent',
    tuning: { maxAttempts: 2 },
  })),
]
