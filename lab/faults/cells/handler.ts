import type { Cell } from '../cell.ts'
import { LEASE_MS } from '../settings.ts'
import { cellsOfWhole } from './table.ts'

/** F15: the handler misbehaves in its first attempt. */
export const HANDLER: readonly Cell[] = [
  ...cellsOfWhole('F15', 'throws', '1 / 1 / 1 / 1', () => ({ fault: { kind: 'none' }, message: 'fail once' })),
  // Renewed until its time and its grace are over; then nobody knows.
  ...cellsOfWhole('F15', 'hangs', '1 / B / B / in doubt', () => ({
    fault: { kind: 'none' },
    message: 'hang',
    tuning: { handlerTimeoutMs: LEASE_MS, graceMs: 500 },
  })),
  // Nothing is renewed meanwhile, and another worker takes it over: as a pause.
  ...cellsOfWhole('F15', 'blocks', '1 / D / k / in doubt', () => ({
    fault: { kind: 'rebalance', at: 'claimed', guests: 'stays' },
    message: 'block',
  })),
]

const GIVEN_UP = 'dead-lettered / dead-lettered / dead-lettered / dead-lettered'

/** F17: what no attempt helps. Its attempts are counted by the store, and the neighbour is unharmed. */
export const POISON: readonly Cell[] = [
  ...cellsOfWhole('F17', 'throws', GIVEN_UP, () => ({
    fault: { kind: 'none' },
    message: 'fail',
    tuning: { maxAttempts: 3 },
  })),
  // Whoever dies leaves a lease in doubt: nobody can say that nothing happened.
  ...cellsOfWhole('F17', 'kills', 'dead-lettered / in doubt / in doubt / in doubt', () => ({
    fault: { kind: 'none' },
    message: 'kill',
    tuning: { maxAttempts: 3 },
  })),
  // It was set aside, and nobody knows of its dead letter: there are two then, never none.
  ...cellsOfWhole('F17', 'killed-before-letter', GIVEN_UP, () => ({
    fault: { kind: 'kill', at: 'copy sent', request: 'is lost' },
    message: 'fail',
    tuning: { maxAttempts: 1 },
  })),
  ...cellsOfWhole('F17', 'killed-after-letter', GIVEN_UP, () => ({
    fault: { kind: 'kill', at: 'copied', request: 'arrives' },
    message: 'fail',
    tuning: { maxAttempts: 1 },
  })),
  ...cellsOfWhole('F17', 'letter-unconfirmed', GIVEN_UP, () => ({
    fault: { kind: 'lose', at: 'copied' },
    message: 'fail',
    tuning: { maxAttempts: 1 },
  })),
]
