import {
  ConfigError,
  checkNames,
  checkOneOf,
  checkWhole,
  resolveLeaveAfter,
  withoutUndefined,
  type DurationMs,
  type Message,
} from '../../../src/spi.ts'
import { shown } from './shown.ts'
import type { RabbitOptions } from './options.ts'
import { resolveDeadLetter, type DeadLetterWay } from './resolve-dead-letter.ts'
import { resolveRetry, type RetryWay } from './resolve-retry.ts'
import { isName, MOST_NAME_BYTES } from './names.ts'

export interface RabbitSettings {
  readonly queue: string
  /** As given; if `undefined`, the pipeline's capacity decides. */
  readonly prefetch: number | undefined
  readonly setup: 'auto' | 'check' | 'off'
  readonly queueType: 'quorum' | 'classic'
  readonly retry: RetryWay
  readonly deadLetter: DeadLetterWay
  readonly lane: ((message: Message) => string | undefined) | undefined
  readonly ackBatch: boolean
  readonly singleActiveConsumer: boolean
  /** `undefined`: never. */
  readonly leaveAfterMs: DurationMs | undefined
  /** As given. */
  readonly consumerTimeoutMs: DurationMs | undefined
}

/** The only place that defines defaults, except those of `retry` and those that depend on the pipeline's capacity. */
const DEFAULTS = {
  setup: 'auto',
  queueType: 'quorum',
  ackBatch: true,
  singleActiveConsumer: false,
} as const satisfies Partial<RabbitOptions>

export const MOST_PREFETCH = 1000

const KNOWN: Record<keyof RabbitOptions, true> = {
  queue: true,
  prefetch: true,
  setup: true,
  queueType: true,
  retry: true,
  deadLetter: true,
  lane: true,
  ackBatch: true,
  singleActiveConsumer: true,
  leaveAfterMs: true,
  consumerTimeoutMs: true,
}

const INSIDE_RETRY = 'give it inside of retry'
const OF_THE_CONSUMER = 'give it to defineConsumer()'
const OF_THE_CONNECTION = 'give it to the connection, the first argument'

/** Options that belong elsewhere, with the right place. */
const MISPLACED: Readonly<Record<string, string>> = {
  delayQueues: INSIDE_RETRY,
  delayedByQueue: INSIDE_RETRY,
  busyWaitMs: INSIDE_RETRY,
  overdueAfterMs: INSIDE_RETRY,
  concurrency: OF_THE_CONSUMER,
  maxAttempts: OF_THE_CONSUMER,
  maxInFlight: OF_THE_CONSUMER,
  leaseMs: OF_THE_CONSUMER,
  handlerTimeoutMs: OF_THE_CONSUMER,
  heartbeat: OF_THE_CONNECTION,
  vhost: OF_THE_CONNECTION,
  noAck: 'leave it out: what is acked before it is handled is lost with its process',
  requeue: 'leave it out: what comes back at once comes back thousands of times a second; see retry',
  exclusive: 'leave it out: quorum queues ignore it; singleActiveConsumer is what orders processes',
  priority: 'leave it out: quorum queues refuse it',
  consumerTag: 'leave it out: each generation of the consumer has a tag of its own',
  globalPrefetch: 'leave it out: quorum queues refuse it, or take it for each consumer',
}

/**
 * Checks everything and reports all problems in one error.
 * @throws ConfigError `CONFIG_INVALID`
 */
export function resolveRabbitOptions(options: RabbitOptions, of = 'runRabbit()'): RabbitSettings {
  if (typeof options !== 'object' || options === null) {
    throw new ConfigError([`RabbitMQ: queue: expected options such as { queue: 'sms' }, got ${shown(options)}`])
  }
  const problems: string[] = []
  const given = withoutUndefined<RabbitOptions>(options)
  checkNames('', given, { of, known: KNOWN, misplaced: MISPLACED }, problems)
  const settings: RabbitSettings = {
    ...DEFAULTS,
    prefetch: undefined,
    lane: undefined,
    consumerTimeoutMs: undefined,
    ...given,
    leaveAfterMs: resolveLeaveAfter(given.leaveAfterMs, problems),
    deadLetter: resolveDeadLetter(given, of, problems),
    retry: resolveRetry(given, of, problems),
  }
  const { queue, prefetch, setup, queueType, lane, ackBatch, singleActiveConsumer, consumerTimeoutMs } = settings
  if (!isName(queue))
    problems.push(
      `queue: expected a name of 1 to ${MOST_NAME_BYTES} bytes without control characters, got ${shown(queue)}`,
    )
  if (prefetch !== undefined) checkWhole('prefetch', prefetch, problems, { most: MOST_PREFETCH, show: shown })
  if (consumerTimeoutMs !== undefined) checkWhole('consumerTimeoutMs', consumerTimeoutMs, problems, { show: shown })
  checkOneOf('setup', setup, ['auto', 'check', 'off'], problems, shown)
  checkOneOf('queueType', queueType, ['quorum', 'classic'], problems, shown)
  checkOneOf('ackBatch', ackBatch, [true, false], problems, shown)
  checkOneOf('singleActiveConsumer', singleActiveConsumer, [true, false], problems, shown)
  if (lane !== undefined && typeof lane !== 'function') problems.push(`lane: expected a function, got ${shown(lane)}`)
  problems.push(...sharedQueues(settings))
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `RabbitMQ: ${problem}`))
  return Object.freeze(settings)
}

/** Problems of queues that are used twice. */
function sharedQueues({ queue, retry, deadLetter }: RabbitSettings): string[] {
  const delays = retry.kind === 'delay-queues' ? retry.queues.map((delay) => delay.queue) : []
  const problems = delays
    .filter((name, index) => delays.indexOf(name) < index)
    .map(
      (name) => `retry.delayQueues: expected each queue once, got ${name} twice; the last one is used again by itself`,
    )
  if (delays.includes(queue)) {
    problems.push(`retry.delayQueues: expected other queues than the one consumed, got ${queue}`)
  }
  if (deadLetter.kind !== 'queue') return problems
  if (deadLetter.queue === queue) {
    problems.push(
      `deadLetter.queue: expected another queue than the one consumed, got ${shown(queue)}: its dead letters would be consumed again for ever`,
    )
  }
  if (delays.includes(deadLetter.queue)) {
    problems.push(
      `deadLetter.queue: expected none of the delay queues, got ${deadLetter.queue}: dead letters would come back to be consumed`,
    )
  }
  return problems
}
