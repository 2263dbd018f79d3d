import type { Cell } from '../cell.ts'
import { MOMENT_OF } from '../moment.ts'
import { cellsOf, cellsOfWhole, type Row } from './table.ts'

const ALL: Row = {
  inbox: '1 or 1s',
  'lease-rerun': '1 or 1s',
  'lease-keyed': '1 or 1s',
  'lease-park': '1 or 1s',
  'lease-postgres': '1 or 1s',
  offsets: '1 or 1s',
}

/** The first message is slow, so that all others wait when it ends: then they share transactions that grow. */
const BATCHED = {
  fault: { kind: 'stop-when-asked' },
  message: 'linger',
  crowd: 60,
} as const

/** F23: the worker is told to stop, as by a deployment, and another one is started. No handler begins twice. */
export const STOP: readonly Cell[] = [
  ...cellsOf('F23', { S0: ALL, S1: ALL, S2: ALL, S3: ALL, S4: ALL, S5: ALL, S6: ALL }, (step) => ({
    fault: { kind: 'stop', at: MOMENT_OF[step] },
    mostRunsOfEach: 1,
  })),
  // In the middle of a shared transaction: what has ended commits, and what never began is given back, with its attempt.
  ...cellsOfWhole('F23', 'in-a-batch', { inbox: '1', offsets: '1' }, () => ({
    ...BATCHED,
    oneOfCrowd: { number: 30, does: 'ask to stop' },
    mostRunsOfEach: 1,
    beginsNothingAfterStop: true,
    givesAttemptsBack: 'all',
    tuning: { transactions: 1 },
  })),
  // The handler outlives the stop: the whole transaction is rolled back, and runs again in the next process.
  ...cellsOfWhole('F23', 'outlived', { inbox: '1', offsets: '1' }, (_, strategy) => ({
    ...BATCHED,
    oneOfCrowd: { number: 30, does: 'outlive the stop' },
    mostRunsOfEach: 2,
    beginsNothingAfterStop: true,
    // A stream counts the attempts of a transaction together.
    ...(strategy === 'inbox' && { givesAttemptsBack: 'all but the one that asked' }),
    tuning: { transactions: 1, stopDeadlineMs: 500 },
  })),
]
