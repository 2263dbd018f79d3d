import type { BrokerName, Cell } from '../cell.ts'
import type { Fault } from '../fault.ts'
import { MOMENT_OF } from '../moment.ts'
import { LEASE_MS } from '../settings.ts'
import { MOVED } from './network.ts'
import { type Made, cellsOf, cellsOfWhole, isBeforeItArrives } from './table.ts'

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

const CROWD = 20

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

const DELETED: Fault = { kind: 'delete-topic', at: 'settled' }

/** F20: only Kafka has topics. */
export const TOPICS: readonly Cell[] = [
  // One topic of the group is gone: the messages of the others are handled.
  ...cellsOfWhole('F20', 'source-deleted', { inbox: '1', 'lease-rerun': '1' }, (broker) =>
    onKafka(broker, { fault: DELETED, beside: 'second topic', mustReport: 'topic-missing' }),
  ),
  ...cellsOfWhole('F20', 'retry-deleted', { inbox: '1', 'lease-rerun': '1' }, (broker) =>
    onKafka(broker, { fault: DELETED, beside: 'retry topic', mustReport: 'retry-topic' }),
  ),
  // A stored position means nothing in another log, even if that log has grown past it.
  ...cellsOfWhole('F20', 'created-anew', { offsets: '1' }, (broker) =>
    onKafka(broker, { fault: { kind: 'recreate-topic', at: 'settled' }, neighbours: 3 }),
  ),
]

function onKafka(broker: BrokerName, made: Made): Made | undefined {
  return broker === 'kafka' ? made : undefined
}

const ONCE = { inbox: '1 or 1s', 'lease-rerun': '1 or 1s', 'lease-keyed': '1 or 1s', offsets: '1 or 1s' }
const FEW = 6

/**
 * F24: transactions of several producers interleave in one partition. What was committed is handled, also behind what was aborted, and
 * behind a transaction that stays open until the fault has healed. What was aborted, or belongs to a producer that is gone, is not.
 */
export const TRANSACTIONAL: readonly Cell[] = [
  ...cellsOf(
    'F24',
    {
      S1: { inbox: '1', 'lease-rerun': 'B', 'lease-keyed': 'B', 'lease-park': 'in doubt', offsets: '1' },
      S3: { inbox: '1', 'lease-rerun': 'D', 'lease-keyed': 'k', 'lease-park': 'in doubt', offsets: '1' },
      S4: { inbox: '1', 'lease-rerun': 'D', 'lease-keyed': 'k', 'lease-park': 'in doubt', offsets: '1' },
      S5: { inbox: '1s', 'lease-rerun': '1s', 'lease-keyed': '1s', offsets: '1 or 1s' },
      S6: { inbox: '1s', 'lease-rerun': '1s', 'lease-keyed': '1s', offsets: '1 or 1s' },
    },
    (step, broker) =>
      broker === 'kafka'
        ? among({
            fault: { kind: 'kill', at: MOMENT_OF[step], request: isBeforeItArrives(step) ? 'is lost' : 'arrives' },
          })
        : undefined,
    'killed',
  ),
  ...cellsOf(
    'F24',
    { S2: ONCE, S3: ONCE, S5: ONCE },
    (step, broker) =>
      broker === 'kafka' ? among({ fault: { kind: 'close-channel', at: MOMENT_OF[step] } }) : undefined,
    'closed',
  ),
  ...cellsOf(
    'F24',
    { S2: { ...ONCE, 'lease-rerun': '1 or 1s or B or D', 'lease-keyed': '1 or 1s or B or k' } },
    (step, broker) =>
      broker === 'kafka'
        ? among({ fault: { kind: 'rebalance', at: MOMENT_OF[step], guests: 'stays' }, message: 'linger' })
        : undefined,
    'rebalanced',
  ),
]

function among(made: Made): Made {
  return { ...made, crowd: FEW, neighbours: 2, isTransactional: true }
}
