import { checkNames, checkObject, checkWhole, withoutUndefined } from '../../../src/spi.ts'
import type { KafkaConsumerOptions, KafkaOptions } from './options.ts'
import type { ConsumerConfigLike } from '../kafkajs-like.ts'

/** The only place that defines defaults of `consumer`. */
const DEFAULTS = {
  sessionTimeout: 30_000,
  heartbeatInterval: 3_000,
  maxWaitTimeInMs: 500,
  // kafkajs decodes a fetch response synchronously, and each of its messages keeps all bytes of the response in memory.
  maxBytesPerPartition: 256 * 1024,
  maxBytes: 1024 * 1024,
  metadataMaxAge: 30_000,
  allowAutoTopicCreation: false,
} as const satisfies KafkaConsumerOptions

type Retry = NonNullable<KafkaConsumerOptions['retry']>

const RETRY_DEFAULTS = { initialRetryTime: 100, maxRetryTime: 1_500, retries: 10 } as const satisfies Retry

const MIN_RETRIES = 8

export const CONSUMER_OPTIONS: Record<keyof KafkaConsumerOptions, unknown> = {
  ...DEFAULTS,
  partitionAssigners: true,
  rebalanceTimeout: true,
  minBytes: true,
  retry: true,
  maxInFlightRequests: true,
  rackId: true,
}

const RETRY_OPTIONS: Record<keyof Retry, unknown> = { ...RETRY_DEFAULTS, factor: true, multiplier: true }

const DETACHED = 'leave it out: handlers run outside of kafkajs, whose own commit would pass unfinished messages'
const BY_TIMER = `${DETACHED}. commitEveryMs says how often the watermark is committed`
const HANDLER = 'leave it out: the handler is that of defineConsumer()'

/** Options that users of kafkajs may look for, and why they cannot be set here. */
export const OWNED_BY_ADAPTER: Readonly<Record<string, string>> = {
  groupId: 'its name is group, beside topics',
  readUncommitted:
    'leave it out: a message that is aborted later would have had its effect, and it lies past the end that the broker tells',
  autoCommit: DETACHED,
  autoCommitInterval: BY_TIMER,
  autoCommitThreshold: BY_TIMER,
  eachMessage: HANDLER,
  eachBatch: HANDLER,
  eachBatchAutoResolve: 'leave it out: a position moves when the adapter has taken the batch over, never by itself',
  fromBeginning:
    "leave it out: kafkajs asks it again after each OFFSET_OUT_OF_RANGE, where the end would lose messages; start: 'latest' is for the group's first start",
}

const RESTART =
  'leave it out: after a crash the adapter builds a new consumer, for ever, with a pause that grows; kafkajs would keep what it crashed with'

/** Defaults that a short session bounds: a third of it leaves time for two more. */
function within(sessionTimeout: unknown): Pick<KafkaConsumerOptions, 'heartbeatInterval' | 'maxWaitTimeInMs'> {
  if (typeof sessionTimeout !== 'number' || !Number.isInteger(sessionTimeout) || sessionTimeout < 3) return {}
  const third = Math.floor(sessionTimeout / 3)
  return {
    heartbeatInterval: Math.min(DEFAULTS.heartbeatInterval, third),
    maxWaitTimeInMs: Math.min(DEFAULTS.maxWaitTimeInMs, third),
  }
}

/** The configuration for `kafka.consumer()`. Adds options that cannot work to `problems`. */
export function resolveConsumer(
  { group: groupId, consumer: asked = {} }: KafkaOptions,
  { of, elsewhere }: { readonly of: string; readonly elsewhere: Readonly<Record<string, string>> },
  problems: string[],
): ConsumerConfigLike & { readonly heartbeatInterval: number; readonly sessionTimeout: number } {
  const consumer: KafkaConsumerOptions = checkObject('consumer', asked, problems)
  const askedRetry: Retry = checkObject('consumer.retry', consumer.retry ?? {}, problems)
  checkNames(
    'consumer.',
    consumer,
    { of, known: CONSUMER_OPTIONS, misplaced: { ...elsewhere, ...OWNED_BY_ADAPTER } },
    problems,
  )
  const retryNames = { of, known: RETRY_OPTIONS, misplaced: { restartOnFailure: RESTART } }
  checkNames('consumer.retry.', askedRetry, retryNames, problems)

  const { partitionAssigners, retry: _, ...given } = withoutUndefined<KafkaConsumerOptions>(consumer)
  const config = { ...DEFAULTS, ...within(given.sessionTimeout), ...given }
  const retry = { ...RETRY_DEFAULTS, ...withoutUndefined<Retry>(askedRetry) }
  const { sessionTimeout, heartbeatInterval, maxWaitTimeInMs } = config
  for (const [name, value] of Object.entries({ sessionTimeout, heartbeatInterval, maxWaitTimeInMs })) {
    checkWhole(`consumer.${name}`, value, problems)
  }
  if (heartbeatInterval * 3 > sessionTimeout) {
    problems.push(
      `consumer.heartbeatInterval: expected at most a third of sessionTimeout (${sessionTimeout}), got ${heartbeatInterval}: one late heartbeat would end the membership; lower it, or raise sessionTimeout to ${heartbeatInterval * 3}`,
    )
  }
  if (maxWaitTimeInMs * 3 > sessionTimeout) {
    problems.push(
      `consumer: expected maxWaitTimeInMs of at most a third of sessionTimeout (${sessionTimeout}), got ${maxWaitTimeInMs}: no heartbeat is sent meanwhile`,
    )
  }
  if (retry.retries < MIN_RETRIES) {
    problems.push(
      `consumer.retry.retries: expected at least ${MIN_RETRIES}, got ${retry.retries}: kafkajs never resets the count`,
    )
  }
  return {
    ...config,
    ...(partitionAssigners === undefined ? {} : { partitionAssigners: [...partitionAssigners] }),
    groupId,
    retry,
  }
}
