import type { Cell } from '../cell.ts'
import { MOMENT_OF } from '../moment.ts'
import { type Row, cellsOf, cellsOfWhole, isBeforeItArrives } from './table.ts'

/** F1: kill -9. The supervisor starts another worker. */
export const CRASH: readonly Cell[] = cellsOf(
  'F1',
  {
    S0: '1 / 1 / 1',
    S1: '1 / B / B / in doubt',
    S2: '1 / B / B / in doubt',
    S3: '1 / D / k / in doubt',
    S4: '1 / D / k / in doubt',
    S5: '1s / 1s / 1s',
    S6: '1s / 1s / 1s',
    // Settled for good, if the broker has received it.
    S7: '1 / 1 / 1',
  },
  (step) => ({
    fault: { kind: 'kill', at: MOMENT_OF[step], request: isBeforeItArrives(step) ? 'is lost' : 'arrives' },
  }),
)

/** F2: SIGSTOP for twice the lease. Another worker gets the message meanwhile; then the first worker resumes. */
export const PAUSE: readonly Cell[] = cellsOf(
  'F2',
  {
    // kafkajs fetches again when it resumes.
    S0: '1 or 1s / 1 or 1s / 1 or 1s',
    // kafkajs does not know yet that it lost its partition: the worker asks the store again, which answers `done`.
    S1: '1 or 1s / B or 1s / B or 1s / in doubt',
    // The worker checks its local lease deadline again before the handler starts.
    S2: '1 or 1s / B or 1s / B or 1s / in doubt',
    S3: '1 or 1s / D / k / in doubt',
    // The store refuses the late mark.
    S4: '1 or 1s / D / k / in doubt',
    // Marked and not settled.
    S5: '1s / 1s / 1s',
    S6: '1s / 1s / 1s',
    S7: '1 / 1 / 1',
  },
  (step) => ({
    fault: { kind: 'freeze', at: MOMENT_OF[step], request: isBeforeItArrives(step) ? 'is held' : 'arrives' },
  }),
)

const SHIFTS = { behind: -120_000, ahead: 3_600_000 }

/** F14: the clock of the first worker is wrong and that of the second is right. Leases use the clock of the store. */
export const CLOCK: readonly Cell[] = Object.entries(SHIFTS).flatMap(([variant, clockShiftMs]) => [
  ...cellsOfWhole('F14', variant, '1 / 1 / 1 / 1', () => ({ fault: { kind: 'none' }, tuning: { clockShiftMs } })),
  ...cellsOfWhole('F14', `${variant}-killed`, '1 / B / B / in doubt', () => ({
    fault: { kind: 'kill', at: 'claimed', request: 'arrives' },
    tuning: { clockShiftMs },
  })),
])

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
