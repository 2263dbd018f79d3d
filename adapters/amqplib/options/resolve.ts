import {
  ELSEWHERE,
  flag,
  func,
  LEAVE_AFTER,
  millis,
  needed,
  OF_THE_CONSUMER,
  oneOf,
  optionsOf,
  or,
  whole,
  type Complete,
  type Table,
} from '../../../src/internal.ts'
import type { RabbitOptions } from './options.ts'
import { DEAD_LETTER, deadLetterWay, problemsOfDeadLetter, type DeadLetterWay } from './resolve-dead-letter.ts'
import { problemsOfRetry, RETRY, retryWay, type RetryWay } from './resolve-retry.ts'
import { NAME } from './names.ts'

type WithoutDefault = 'prefetch' | 'retry' | 'lane' | 'consumerTimeoutMs'

/** The options with their defaults. Without `prefetch`, the pipeline's capacity decides. */
export interface RabbitSettings extends Omit<Complete<RabbitOptions, WithoutDefault>, 'retry' | 'deadLetter'> {
  readonly retry: RetryWay
  readonly deadLetter: DeadLetterWay
}

export const MOST_PREFETCH = 1000

const INSIDE_RETRY = 'give it inside of retry'
const OF_THE_CONNECTION = 'give it to the connection, the first argument'

const RABBIT: Table<RabbitOptions, WithoutDefault> = {
  queue: needed(NAME),
  prefetch: whole({ most: MOST_PREFETCH }),
  setup: or('auto', oneOf('auto', 'check', 'off')),
  queueType: or('quorum', oneOf('quorum', 'classic')),
  retry: RETRY,
  deadLetter: or({}, DEAD_LETTER),
  lane: func(),
  ackBatch: or(true, flag()),
  singleActiveConsumer: or(false, flag()),
  leaveAfterMs: LEAVE_AFTER,
  consumerTimeoutMs: millis(),
  [ELSEWHERE]: {
    ...OF_THE_CONSUMER,
    delayQueues: INSIDE_RETRY,
    delayedByQueue: INSIDE_RETRY,
    busyWaitMs: 'give it to defineConsumer(), as whenBusy: { waitMs }',
    overdueAfterMs: INSIDE_RETRY,
    heartbeat: OF_THE_CONNECTION,
    vhost: OF_THE_CONNECTION,
    noAck: 'leave it out: what is acked before it is handled is lost with its process',
    requeue: 'leave it out: what comes back at once comes back thousands of times a second; see retry',
    exclusive: 'leave it out: quorum queues ignore it; singleActiveConsumer is what orders processes',
    priority: 'leave it out: quorum queues refuse it',
    consumerTag: 'leave it out: each generation of the consumer has a tag of its own',
    globalPrefetch: 'leave it out: quorum queues refuse it, or take it for each consumer',
  },
}

/** @param of - the function that got the options. @throws ConfigError `CONFIG_INVALID`, with all problems at once */
export function resolveRabbitOptions(given: RabbitOptions, of = 'runRabbit'): RabbitSettings {
  const options = optionsOf(of, RABBIT, given, (all, problems) => {
    problemsOfDeadLetter(all, problems)
    problemsOfRetry(all.retry, all.queueType, problems)
    if (problems.length === 0) problems.push(...sharedQueues(settingsOf(all)))
  })
  return Object.freeze(settingsOf(options))
}

function settingsOf(options: Complete<RabbitOptions, WithoutDefault>): RabbitSettings {
  return { ...options, deadLetter: deadLetterWay(options), retry: retryWay(options.queue, options.retry) }
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
      `deadLetter.queue: expected another queue than the one consumed, got ${queue}: its dead letters would be consumed again for ever`,
    )
  }
  if (delays.includes(deadLetter.queue)) {
    problems.push(
      `deadLetter.queue: expected none of the delay queues, got ${deadLetter.queue}: dead letters would come back to be consumed`,
    )
  }
  return problems
}
