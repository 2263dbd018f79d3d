import type { Cell } from '../cell.ts'
import { MOMENT_OF, type Moment, type Step } from '../moment.ts'
import { type Made, cellsOf, cellsOfWhole } from './table.ts'

/** F3: the connection breaks before the request arrives. */
export const REQUEST_LOST: readonly Cell[] = cellsOf(
  'F3',
  {
    S1: '1 / 1 / 1 / 1',
    // The worker cannot know that the provider never got the request, so it calls again.
    S3: '1 / 1 or B / 1 or B / in doubt',
    S4: '1 / 1 / 1 / 1',
    // A commit is sent again. An ack is not: its channel is gone.
    S6: '1 or 1s / 1 or 1s / 1 or 1s',
  },
  (step) => ({ fault: { kind: 'lose', at: step === 'S3' ? 'effect sent' : MOMENT_OF[step] } }),
)

const ANSWERS: Partial<Readonly<Record<Step, Moment>>> = {
  S1: 'claimed',
  S3: 'effect applied',
  S4: 'marked',
  S6: 'settled',
}

/** F4: the server acts on the request, and the connection breaks before the answer arrives. */
export const REPLY_LOST: readonly Cell[] = cellsOf(
  'F4',
  {
    // The same owner token: the claim is already its own.
    S1: '1 / 1 / 1 / 1',
    S3: '1 / D / k / in doubt',
    // An inbox finds the row when it claims again.
    S4: '1 or 1s / 1 / 1 / 1',
    S6: '1 or 1s / 1 or 1s / 1 or 1s',
  },
  (step, broker): Made | undefined => {
    const at = ANSWERS[step]
    // RabbitMQ does not answer acks.
    return at === undefined || (at === 'settled' && broker === 'rabbitmq') ? undefined : { fault: { kind: 'lose', at } }
  },
)

/** F5: the connection carries nothing, without an error. Each call ends by its own timeout. */
export const BLACK_HOLE: readonly Cell[] = cellsOf(
  'F5',
  {
    S1: '1 / 1 / 1 / 1',
    S3: '1 / 1 or B / 1 or B / in doubt',
    S4: '1 or 1s / 1 / 1 / 1',
    S6: '1s / 1s / 1s',
  },
  (step) => ({ fault: { kind: 'swallow', at: step === 'S3' ? 'effect sent' : MOMENT_OF[step] } }),
)

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

export const MOVED = '1 or 1s / 1 or 1s or B or D / 1 or 1s or B or k'

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

const ONCE_ON_ALL = '1 or 1s / 1 or 1s / 1 or 1s / 1 or 1s'

/** F7: the broker stops and starts again on its data. As in F6, only the settle fails. */
export const BROKER_RESTART: readonly Cell[] = cellsOf(
  'F7',
  {
    S0: ONCE_ON_ALL,
    S1: ONCE_ON_ALL,
    S2: ONCE_ON_ALL,
    S3: ONCE_ON_ALL,
    S4: ONCE_ON_ALL,
    S5: ONCE_ON_ALL,
    S6: ONCE_ON_ALL,
    S7: ONCE_ON_ALL,
  },
  (step) => ({ fault: { kind: 'restart-broker', at: MOMENT_OF[step] } }),
)

/**
 * F18: while a handler runs, the worker cannot reach its store for longer than the lease, but reaches its broker. The lease cannot be
 * renewed, so the handler is aborted before the lease ends.
 */
export const CUT_OFF: readonly Cell[] = [
  // The effect has happened, and once the lease has ended nobody knows.
  ...cellsOfWhole(
    'F18',
    'after-effect',
    {
      inbox: '1 or 1s',
      'lease-rerun': 'D',
      'lease-keyed': 'k',
      'lease-park': 'in doubt',
      'lease-postgres': 'D',
      offsets: '1 or 1s',
    },
    (_, strategy) => ({
      fault: { kind: 'cut-off-store', at: 'effect applied' },
      message: 'outlast',
      // A transaction has no lease.
      mustAbortInTime: strategy !== 'inbox' && strategy !== 'offsets',
    }),
  ),
]

const MEMBERS = 3

/**
 * F22: one of three members loses its store, or its broker, and never gets it back. The two others take over what it had, and handle
 * what comes later. It ends when it is told to, all the same.
 */
export const CUT_OFF_FOR_GOOD: readonly Cell[] = [
  // What the silent member asked for arrives. Its transaction or lease ends, and another member takes the message.
  ...cellsOf(
    'F22',
    {
      S1: {
        inbox: '1',
        'lease-rerun': '1 or B',
        'lease-keyed': '1 or B',
        'lease-park': 'in doubt',
        'lease-postgres': '1 or B',
        offsets: '1',
      },
      S3: {
        inbox: '1',
        'lease-rerun': 'D',
        'lease-keyed': 'k',
        'lease-park': 'in doubt',
        'lease-postgres': 'D',
        offsets: '1',
      },
      S4: {
        inbox: '1 or 1s',
        'lease-rerun': '1 or 1s',
        'lease-keyed': '1 or 1s',
        'lease-park': '1 or 1s',
        'lease-postgres': '1 or 1s',
        offsets: '1 or 1s',
      },
    },
    (step) => ({
      fault: { kind: 'cut-off-for-good', from: 'store', at: MOMENT_OF[step] },
      members: MEMBERS,
      neighbours: 3,
      mustReport: 'stepped-aside',
      tuning: { leaveAfterMs: 2_000 },
    }),
    'store',
  ),
  // Its handler ends and marks. Only the settle is lost.
  ...cellsOf(
    'F22',
    { S1: ONCE_ON_ALL, S3: ONCE_ON_ALL, S5: ONCE_ON_ALL, S6: ONCE_ON_ALL },
    (step) => ({
      fault: { kind: 'cut-off-for-good', from: 'broker', at: MOMENT_OF[step] },
      members: MEMBERS,
      neighbours: 3,
    }),
    'broker',
  ),
]
