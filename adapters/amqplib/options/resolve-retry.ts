import { checkNames, checkWhole, type DurationMs } from '../../../src/spi.ts'
import { isName, MOST_NAME_BYTES } from './names.ts'
import { shown } from './shown.ts'
import type { RabbitDelayQueue, RabbitDelayedByQueue, RabbitDelayQueues, RabbitOptions } from './options.ts'

export type DelayQueue = Required<RabbitDelayQueue>

/** Where a message waits for its next attempt. */
export type RetryWay =
  | { readonly kind: 'lane' }
  | {
      readonly kind: 'delay-queues'
      readonly queues: readonly DelayQueue[]
      readonly busyWaitMs: DurationMs
      readonly overdueAfterMs: DurationMs
    }
  | {
      readonly kind: 'delayed-by-queue'
      readonly minMs: DurationMs
      readonly maxMs: DurationMs
      readonly busyWaitMs: DurationMs
    }

const DEFAULTS = { busyWaitMs: 2_000, overdueAfterMs: 60_000 }

const A_DELAY = { most: 2_147_483_647, show: shown }

const RETRY: Record<keyof RabbitDelayQueues | keyof RabbitDelayedByQueue, true> = {
  delayQueues: true,
  delayedByQueue: true,
  busyWaitMs: true,
  overdueAfterMs: true,
}

const DELAY_QUEUE: Record<keyof RabbitDelayQueue, true> = { delayMs: true, queue: true }

const BY_QUEUE: Record<keyof RabbitDelayedByQueue['delayedByQueue'], true> = { minMs: true, maxMs: true }

const OF_THE_CONSUMER = 'give it to defineConsumer()'
const MISPLACED = { maxAttempts: OF_THE_CONSUMER, initialMs: OF_THE_CONSUMER, maxMs: OF_THE_CONSUMER }

export function resolveRetry(options: RabbitOptions, of: string, problems: string[]): RetryWay {
  const { retry } = options
  if (retry === undefined) return { kind: 'lane' }
  if (typeof retry !== 'object' || retry === null) {
    problems.push(`retry: expected { delayQueues } or { delayedByQueue }, got ${shown(retry)}`)
    return { kind: 'lane' }
  }
  checkNames('retry.', retry, { of, known: RETRY, misplaced: MISPLACED }, problems)
  const { busyWaitMs = DEFAULTS.busyWaitMs } = retry
  checkWhole('retry.busyWaitMs', busyWaitMs, problems, A_DELAY)
  const { delayQueues, delayedByQueue }: { readonly delayQueues?: unknown; readonly delayedByQueue?: unknown } = retry
  if ((delayQueues === undefined) === (delayedByQueue === undefined)) {
    const got = delayQueues === undefined ? 'neither' : 'both'
    problems.push(
      `retry: expected delayQueues or delayedByQueue, got ${got}; without retry a message waits in its lane`,
    )
    return { kind: 'lane' }
  }
  return retry.delayQueues === undefined
    ? { ...resolveByQueue(options, retry, of, problems), busyWaitMs }
    : { ...resolveDelayQueues(options.queue, retry, of, problems), busyWaitMs }
}

function resolveDelayQueues(
  origin: string,
  retry: RabbitDelayQueues,
  of: string,
  problems: string[],
): Omit<Extract<RetryWay, { kind: 'delay-queues' }>, 'busyWaitMs'> {
  const { delayQueues, overdueAfterMs = DEFAULTS.overdueAfterMs } = retry
  checkWhole('retry.overdueAfterMs', overdueAfterMs, problems, { show: shown })
  const isList = Array.isArray(delayQueues) && delayQueues.length > 0
  if (!isList) problems.push(`retry.delayQueues: expected at least one delay, got ${shown(delayQueues)}`)
  const queues = (isList ? delayQueues : []).map((entry, index) => delayQueueOf(origin, entry, index, { of, problems }))
  return { kind: 'delay-queues', queues, overdueAfterMs }
}

function delayQueueOf(
  origin: string,
  entry: RabbitDelayQueues['delayQueues'][number],
  index: number,
  { of, problems }: { readonly of: string; readonly problems: string[] },
): DelayQueue {
  const place = `retry.delayQueues[${index}]`
  const isNumber = typeof entry !== 'object' || entry === null
  const given = isNumber ? { delayMs: entry } : entry
  if (!isNumber) checkNames(`${place}.`, given, { of, known: DELAY_QUEUE }, problems)
  const { delayMs, queue = `${origin}.retry.${delayMs}` }: RabbitDelayQueue = given
  checkWhole(isNumber ? place : `${place}.delayMs`, delayMs, problems, A_DELAY)
  if (!isName(queue)) {
    problems.push(
      `${place}.queue: expected a name of 1 to ${MOST_NAME_BYTES} bytes without control characters, got ${shown(queue)}`,
    )
  }
  return { delayMs, queue }
}

function resolveByQueue(
  { queueType }: RabbitOptions,
  { delayedByQueue, overdueAfterMs }: RabbitDelayedByQueue,
  of: string,
  problems: string[],
): Omit<Extract<RetryWay, { kind: 'delayed-by-queue' }>, 'busyWaitMs'> {
  if (overdueAfterMs !== undefined) {
    problems.push('retry.overdueAfterMs: leave it out with delayedByQueue: what waits there is in the queue')
  }
  if (queueType === 'classic') {
    problems.push("retry.delayedByQueue: expected queueType 'quorum', got 'classic', which delays nothing")
  }
  if (typeof delayedByQueue !== 'object' || delayedByQueue === null) {
    problems.push(`retry.delayedByQueue: expected { minMs, maxMs }, got ${shown(delayedByQueue)}`)
    return { kind: 'delayed-by-queue', minMs: 1, maxMs: 1 }
  }
  checkNames('retry.delayedByQueue.', delayedByQueue, { of, known: BY_QUEUE }, problems)
  const { minMs, maxMs } = delayedByQueue
  checkWhole('retry.delayedByQueue.minMs', minMs, problems, A_DELAY)
  checkWhole('retry.delayedByQueue.maxMs', maxMs, problems, A_DELAY)
  if (maxMs < minMs) {
    problems.push(`retry.delayedByQueue.maxMs: expected at least minMs (${minMs}), got ${maxMs}`)
  }
  return { kind: 'delayed-by-queue', minMs, maxMs }
}
