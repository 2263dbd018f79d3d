import type { Cell } from '../cell.ts'
import type { Spoilt } from '../fault.ts'
import { MOMENT_OF, type Step } from '../moment.ts'
import type { Strategy } from '../strategy.ts'
import { type Made, type Row, type Table, cellsOf, cellsOfWhole } from './table.ts'

const ONCE_ON_REDIS = '- / 1 / 1 / 1'

/** F8: Redis is frozen for twice the lease. No worker can claim meanwhile, and Redis executes pending requests when it resumes. */
export const FROZEN: readonly Cell[] = cellsOf(
  'F8',
  { S1: ONCE_ON_REDIS, S2: ONCE_ON_REDIS, S3: ONCE_ON_REDIS, S4: ONCE_ON_REDIS, S5: ONCE_ON_REDIS },
  (step) => ({
    fault: { kind: 'freeze-redis', at: MOMENT_OF[step] },
  }),
)

/** A worker that has not marked yet still marks: no other owner exists, and the effect happened. A redelivery finds no record. */
const FORGOTTEN = {
  S0: ONCE_ON_REDIS,
  S1: ONCE_ON_REDIS,
  S2: ONCE_ON_REDIS,
  S3: ONCE_ON_REDIS,
  S4: ONCE_ON_REDIS,
  S5: '- / D / k / D',
  S6: '- / D / k / D',
  S7: '- / D / k / D',
}

/** A replica that has the claim and not the mark leaves the message in doubt. */
const LAGGING = {
  S2: ONCE_ON_REDIS,
  S3: ONCE_ON_REDIS,
  S4: ONCE_ON_REDIS,
  S5: '- / D / k / in doubt',
  S6: '- / D / k / in doubt',
  S7: '- / D / k / in doubt',
}

/** F9: Redis loses the mark, and the message comes again: from the broker, or sent again by its producer. */
export const FORGETTING: readonly Cell[] = [
  ...(['emptied', 'flushed'] as const).flatMap((how) =>
    cellsOf(
      'F9',
      FORGOTTEN,
      // The broker does the same, however the store lost its records.
      (step, broker): Made | undefined =>
        how === 'emptied' && broker === 'kafka'
          ? undefined
          : { ...after(step), fault: { kind: 'lose-records', how, ...whereOf(step) } },
      how,
    ),
  ),
  ...cellsOf(
    'F9',
    LAGGING,
    (step): Made => ({
      ...after(step),
      fault: { kind: 'promote-redis', lagsFrom: isMarked(step) ? 'mark sent' : 'claim sent', ...whereOf(step) },
    }),
    'promoted',
  ),
]

function whereOf(step: Step) {
  return { at: MOMENT_OF[step], worker: step === 'S5' || step === 'S6' ? 'is killed' : 'stays' } as const
}

function after(step: Step): Omit<Made, 'fault'> {
  if (!isMarked(step)) return {}
  const admitted = ['A2 duplicate attempt', 'A2 duplicate accepted'] as const
  return step === 'S7' ? { admitted, isSentAgain: true, tuning: { resendsDiffer: true } } : { admitted }
}

function isMarked(step: Step): boolean {
  return step === 'S5' || step === 'S6' || step === 'S7'
}

const ONCE = { inbox: '1 or 1s', 'lease-postgres': '1 or 1s', offsets: '1 or 1s' }

/** A worker that got no answer finds the row, or runs again because its first transaction did not commit. */
const UNKNOWN: Table = { S0: ONCE, S1: ONCE, S2: ONCE, S3: ONCE, S4: ONCE, S5: ONCE, S6: ONCE, S7: ONCE }

/** F10: an administrator terminates the backends of the worker, or Postgres restarts at once. The worker process survives. */
export const BACKEND: readonly Cell[] = [
  ...cellsOf('F10', UNKNOWN, (step) => ({ fault: { kind: 'terminate-backends', at: MOMENT_OF[step] } }), 'terminated'),
  ...cellsOf('F10', UNKNOWN, (step) => ({ fault: { kind: 'restart-postgres', at: MOMENT_OF[step] } }), 'restarted'),
]

/**
 * F11: a replica without effect and mark is promoted. An inbox never sees a message again that was settled by then: this is the limit
 * of its promise. A stored position goes back together with the effect, and the messages after it are handled again.
 */
export const TAIL_LOST: readonly Cell[] = cellsOf(
  'F11',
  {
    S5: { inbox: '1', offsets: '1' },
    S6: { inbox: 'lost', offsets: '1' },
    S7: { inbox: 'lost', offsets: '1' },
  },
  (step, _, strategy) => {
    const isLost = strategy === 'inbox' && step !== 'S5'
    return {
      fault: {
        kind: 'promote-postgres',
        lagsFrom: 'mark sent',
        at: MOMENT_OF[step],
        worker: step === 'S5' ? 'is killed' : 'stays',
      },
      ...(isLost ? { mustShow: 'A1 lost' } : {}),
    }
  },
)

const PARKED = 'in doubt'

const STORES: Readonly<Record<Spoilt, Row>> = {
  'other-type': { 'lease-rerun': PARKED, 'lease-park': PARKED },
  'cut-off': { 'lease-rerun': PARKED },
  newer: { inbox: PARKED, 'lease-rerun': PARKED, 'lease-postgres': PARKED },
}

/** In Postgres the first claim writes the row of the scope that a record belongs to. */
function momentOf(strategy: Strategy): 'delivered' | 'claim sent' {
  return strategy === 'inbox' || strategy === 'lease-postgres' ? 'claim sent' : 'delivered'
}

/** F19: the record of one message is unreadable. Only that message is set aside; messages claimed with it are handled. */
export const UNREADABLE: readonly Cell[] = Object.entries(STORES).flatMap(([how, row]) =>
  cellsOfWhole('F19', how, row, (_, strategy) => ({
    fault: { kind: 'spoil-record', at: momentOf(strategy), how: how as Spoilt },
    crowd: 5,
    reason: 'record-unreadable',
  })),
)

/** F21: a drop-in function waits for its store and reports it. The client neither loses nor repeats messages. */
export const STORE_AWAY: readonly Cell[] = cellsOfWhole('F21', 'drop-in', '1 / 1', () => ({
  fault: { kind: 'store-away', at: 'delivered' },
  crowd: 5,
  mustReport: 'store-not-opened',
  tuning: { isDropIn: true },
}))

const RETENTION_MS = 6_000

/** F16: the worker dies after the mark, and the redelivery comes after the retention. An inbox keeps its row until the purge. */
export const RETENTION: readonly Cell[] = cellsOfWhole('F16', 'over', '1s / D / k / D', (_, strategy) => ({
  fault: { kind: 'kill', at: 'marked', request: 'arrives', awayMs: RETENTION_MS + 500 },
  tuning: { retentionMs: RETENTION_MS, handlerTimeoutMs: 3_000 },
  ...(strategy === 'inbox' ? {} : { mustReport: 'beyond-retention' }),
}))
