import type { Cell } from '../cell.ts'
import { LEASE_MS } from '../settings.ts'
import { cellsOfWhole } from './table.ts'

/** F15: the handler misbehaves in its first attempt. */
export const HANDLER: readonly Cell[] = [
  ...cellsOfWhole('F15', 'throws', '1 / 1 / 1 / 1', () => ({ fault: { kind: 'none' }, message: 'fail once' })),
  // The lease is renewed until timeout and grace are over; then the message is in doubt.
  ...cellsOfWhole('F15', 'hangs', '1 / B / B / in doubt', () => ({
    fault: { kind: 'none' },
    message: 'hang',
    tuning: { handlerTimeoutMs: LEASE_MS, graceMs: 500 },
  })),
  // No lease is renewed meanwhile, and another worker takes the message over, as after a pause.
  ...cellsOfWhole('F15', 'blocks', '1 / D / k / in doubt', () => ({
    fault: { kind: 'rebalance', at: 'claimed', guests: 'stays' },
    message: 'block',
  })),
]

const GIVEN_UP = 'dead-lettered / dead-lettered / dead-lettered / dead-lettered'

/** F17: a poison message. The store counts its attempts, and its neighbour is handled. */
export const POISON: readonly Cell[] = [
  ...cellsOfWhole('F17', 'throws', GIVEN_UP, () => ({
    fault: { kind: 'none' },
    message: 'fail',
    tuning: { maxAttempts: 3 },
  })),
  // A dead process leaves its message in doubt: the effect may have happened.
  ...cellsOfWhole('F17', 'kills', 'dead-lettered / in doubt / in doubt / in doubt', () => ({
    fault: { kind: 'none' },
    message: 'kill',
    tuning: { maxAttempts: 3 },
  })),
  // It was set aside, and its dead letter is unknown: there may be two dead letters, never none.
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
