import {
  either,
  ELSEWHERE,
  listOf,
  millis,
  needed,
  OF_THE_CONSUMER,
  object,
  type DurationMs,
  type Rule,
  type Table,
} from '../../../src/internal.ts'
import { NAME } from './names.ts'
import type { RabbitDelayedByQueue, RabbitDelayQueue, RabbitOptions, RabbitRetry } from './options.ts'

export type DelayQueue = Required<RabbitDelayQueue>

/** Where a message waits for its next attempt. */
export type RetryWay =
  | { readonly kind: 'lane' }
  | {
      readonly kind: 'delay-queues'
      readonly queues: readonly DelayQueue[]
      readonly overdueAfterMs: DurationMs
    }
  | {
      readonly kind: 'delayed-by-queue'
      readonly minMs: DurationMs
      readonly maxMs: DurationMs
    }

const DELAY_QUEUE: Table<RabbitDelayQueue, 'queue'> = { delayMs: needed(millis()), queue: NAME }

type ByQueue = RabbitDelayedByQueue['delayedByQueue']
const BY_QUEUE: Table<ByQueue> = { minMs: needed(millis()), maxMs: needed(millis()) }

const BACKOFF = 'give it to defineConsumer(), inside of backoff'

const TABLE: Table<RabbitRetry, 'delayQueues' | 'delayedByQueue' | 'overdueAfterMs'> = {
  delayQueues: listOf(either(millis(), object(DELAY_QUEUE)), { least: 1, what: 'delays' }),
  delayedByQueue: object(BY_QUEUE),
  overdueAfterMs: millis(),
  [ELSEWHERE]: {
    ...OF_THE_CONSUMER,
    busyWaitMs: 'give it to defineConsumer(), as whenBusy: { waitMs }',
    initialMs: BACKOFF,
    maxMs: BACKOFF,
  },
}

export const RETRY: Rule<RabbitRetry> = object(TABLE)

/** The options were checked before. */
export function retryWay(origin: string, retry: RabbitRetry | undefined): RetryWay {
  if (retry === undefined) return { kind: 'lane' }
  if (retry.delayQueues === undefined) return { kind: 'delayed-by-queue', ...retry.delayedByQueue }
  const { delayQueues, overdueAfterMs = 60_000 } = retry
  const queues = delayQueues.map((entry): DelayQueue => {
    const { delayMs, queue = `${origin}.retry.${delayMs}` }: RabbitDelayQueue =
      typeof entry === 'number' ? { delayMs: entry } : entry
    return { delayMs, queue }
  })
  return { kind: 'delay-queues', queues, overdueAfterMs }
}

/** @param problems - problems are added here */
export function problemsOfRetry(
  retry: RabbitRetry | undefined,
  queueType: RabbitOptions['queueType'],
  problems: string[],
): void {
  if (retry === undefined) return
  const { delayQueues, delayedByQueue, overdueAfterMs } = retry
  if ((delayQueues === undefined) === (delayedByQueue === undefined)) {
    const got = delayQueues === undefined ? 'neither' : 'both'
    problems.push(
      `retry: expected delayQueues or delayedByQueue, got ${got}; without retry a message waits in its lane`,
    )
    return
  }
  if (delayedByQueue === undefined) return
  if (overdueAfterMs !== undefined) {
    problems.push('retry.overdueAfterMs: leave it out with delayedByQueue: what waits there is in the queue')
  }
  if (queueType === 'classic') {
    problems.push('retry.delayedByQueue: expected queueType "quorum", got "classic", which delays nothing')
  }
  const { minMs, maxMs } = delayedByQueue
  if (maxMs < minMs) {
    problems.push(`retry.delayedByQueue.maxMs: expected at least minMs (${minMs}), got ${maxMs}`)
  }
}
