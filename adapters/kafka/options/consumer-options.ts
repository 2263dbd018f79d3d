import {
  ELSEWHERE,
  flag,
  listOf,
  object,
  oneOf,
  or,
  plainText,
  where,
  whole,
  withoutUndefined,
  type Rule,
  type Table,
} from '../../../src/internal.ts'
import type { KafkaConsumerOptions, KafkaOptions } from './options.ts'
import type { MemberConfig } from '../client.ts'

const ABOVE_0: Rule<number> = where('a number above 0', (value) => Number.isFinite(value) && Number(value) > 0)

type Retry = NonNullable<KafkaConsumerOptions['retry']>

const NUMBER = whole({ least: 0 })

const RETRY: Table<Retry, 'factor' | 'multiplier'> = {
  initialRetryTime: or(100, NUMBER),
  maxRetryTime: or(1_500, NUMBER),
  retries: or(10, whole({ least: 8 }, 'kafkajs never resets the count')),
  factor: ABOVE_0,
  multiplier: ABOVE_0,
  [ELSEWHERE]: {
    restartOnFailure:
      'leave it out: after a crash the adapter builds a new consumer, for ever, with a pause that grows; kafkajs would keep what it crashed with',
  },
}

type WithoutDefault =
  | 'heartbeatInterval'
  | 'maxWaitTimeInMs'
  | 'partitionAssigners'
  | 'rebalanceTimeout'
  | 'minBytes'
  | 'maxInFlightRequests'
  | 'rackId'

/** `consumerConfig`. */
export const CONSUMER: Table<KafkaConsumerOptions, WithoutDefault> = {
  groupProtocol: or('classic', oneOf('classic', 'consumer')),
  sessionTimeout: or(30_000, whole()),
  heartbeatInterval: whole(),
  maxWaitTimeInMs: whole(),
  // kafkajs decodes a fetch response synchronously, and each of its messages keeps all bytes of the response in memory.
  maxBytesPerPartition: or(256 * 1024, NUMBER),
  maxBytes: or(1024 * 1024, NUMBER),
  metadataMaxAge: or(30_000, NUMBER),
  allowAutoTopicCreation: or(false, flag()),
  partitionAssigners: listOf(where('an assigner', (value) => value !== undefined)),
  rebalanceTimeout: NUMBER,
  minBytes: NUMBER,
  retry: or({}, object(RETRY)),
  maxInFlightRequests: NUMBER,
  rackId: plainText(),
}

const DETACHED = 'leave it out: handlers run outside of the client, whose own commit would pass unfinished messages'
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
    "leave it out: it would be asked again after each OFFSET_OUT_OF_RANGE, where the end loses messages; startAt: 'latest' is for the group's first start",
}

export type ConsumerConfig = MemberConfig &
  Readonly<Record<'heartbeatInterval' | 'maxWaitTimeInMs' | 'sessionTimeout', number>>

/** The configuration for `kafka.consumer()`, with defaults that a short session bounds: a third of it leaves time for two more. */
export function consumerConfig({
  group: groupId,
  consumerConfig: consumer,
}: Pick<KafkaOptions, 'group' | 'consumerConfig'>): ConsumerConfig {
  const { partitionAssigners, retry, ...given } = withoutUndefined<KafkaConsumerOptions>(consumer ?? {})
  const { sessionTimeout = 30_000 } = given
  const third = Math.max(1, Math.floor(sessionTimeout / 3))
  return {
    heartbeatInterval: Math.min(3_000, third),
    maxWaitTimeInMs: Math.min(500, third),
    ...given,
    sessionTimeout,
    ...(partitionAssigners === undefined ? {} : { partitionAssigners: [...partitionAssigners] }),
    // kafkajs computes with `undefined` instead of its default, and its pauses are NaN then.
    ...(retry === undefined ? {} : { retry: withoutUndefined<Retry>(retry) }),
    groupId,
  }
}

/** @param problems - problems are added here */
export function problemsOfSession(
  { sessionTimeout, heartbeatInterval, maxWaitTimeInMs }: ConsumerConfig,
  problems: string[],
): void {
  if (heartbeatInterval * 3 > sessionTimeout) {
    problems.push(
      `consumerConfig.heartbeatInterval: expected at most a third of sessionTimeout (${sessionTimeout}), got ${heartbeatInterval}: one late heartbeat would end the membership; lower it, or raise sessionTimeout to ${heartbeatInterval * 3}`,
    )
  }
  if (maxWaitTimeInMs * 3 > sessionTimeout) {
    problems.push(
      `consumer: expected maxWaitTimeInMs of at most a third of sessionTimeout (${sessionTimeout}), got ${maxWaitTimeInMs}: no heartbeat is sent meanwhile`,
    )
  }
}
