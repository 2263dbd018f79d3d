import { ConfigError, type DurationMs } from '../../src/index.ts'
import { TOPIC_NAME, type Order } from './delivery.ts'
import type { ConsumerConfigLike } from './slice.ts'

/** Options of kafkajs's consumer. What this adapter owns is missing: `groupId`, `readUncommitted`, `restartOnFailure`. */
export type KafkaConsumerOptions = Omit<ConsumerConfigLike, 'groupId' | 'retry' | 'partitionAssigners'> & {
  readonly partitionAssigners?: readonly unknown[]
  /** @defaultValue 10 retries, at most 1.5 s apart. At least 8: kafkajs never resets the count. */
  readonly retry?: Omit<NonNullable<ConsumerConfigLike['retry']>, 'restartOnFailure'>
}

export interface KafkaOptions {
  /** At least one. All members of a group must have the same. */
  readonly topics: readonly string[]
  readonly groupId: string
  /**
   * Where dead letters go: a topic, or a function of the topic they were first published to. Must not lead to a topic of
   * `topics`. @defaultValue `${topic}.dead-letter`
   */
  readonly deadLetterTopic?: string | ((origin: string) => string)
  /**
   * Create missing dead-letter topics, with one partition and the broker's default replication. If `false`, a missing one is
   * an error at the start. @defaultValue true
   */
  readonly assertDeadLetterTopics?: boolean
  /**
   * What is handled in turn. `key`: messages of one key in one partition; messages without a key in no order.
   * `partition`: a whole partition, one at a time. `none`: nothing. @defaultValue `key`
   */
  readonly order?: Order
  /**
   * Bytes of keys and values of one partition that are taken and not finished; past it that partition is paused, until half
   * is left. The consumer's `maxInFlight` bounds their number likewise. @defaultValue 32 MiB
   */
  readonly maxBytesInFlight?: number
  /**
   * Offsets from the lowest unfinished message of a partition to its newest one taken; past it that partition is paused, until
   * half is left. What finishes behind one slow message is remembered until it ends: longer takes memory (about 30 bytes
   * each) and is repeated, as duplicates, after a crash. @defaultValue 100000
   */
  readonly maxWatermarkLag?: number
  /** How often watermarks are committed. Longer: more is redelivered after a crash. @defaultValue 1000 */
  readonly commitEveryMs?: DurationMs
  /** Batches taken over at once from one fetch. Handlers run outside of it: this bounds none of them. @defaultValue 8 */
  readonly partitionsConsumedConcurrently?: number
  /** Passed through to kafkajs's consumer. `maxWaitTimeInMs` defaults to 500, `metadataMaxAge` to 30000. */
  readonly consumer?: KafkaConsumerOptions
}

export interface ResolvedKafka {
  readonly topics: readonly string[]
  readonly groupId: string
  readonly deadLetterTopicOf: (origin: string) => string
  readonly assertDeadLetterTopics: boolean
  readonly order: Order
  readonly commitEveryMs: DurationMs
  readonly maxBytesInFlight: number
  readonly maxWatermarkLag: number
  readonly partitionsConsumedConcurrently: number
  readonly heartbeatEveryMs: DurationMs
  readonly consumer: ConsumerConfigLike
}

/** The only place with a default. */
const DEFAULTS = {
  assertDeadLetterTopics: true,
  order: 'key',
  commitEveryMs: 1_000,
  maxBytesInFlight: 32 * 1024 * 1024,
  maxWatermarkLag: 100_000,
  partitionsConsumedConcurrently: 8,
  consumer: {
    sessionTimeout: 30_000,
    heartbeatInterval: 3_000,
    maxWaitTimeInMs: 500,
    metadataMaxAge: 30_000,
    allowAutoTopicCreation: false,
  },
  retry: { initialRetryTime: 100, maxRetryTime: 1_500, retries: 10 },
} as const satisfies Partial<Omit<KafkaOptions, 'consumer'>> & { consumer: KafkaConsumerOptions; retry: object }

const ORDERS: readonly Order[] = ['key', 'partition', 'none']
const OWNED = [
  'groupId',
  'readUncommitted',
  'autoCommit',
  'eachBatch',
  'eachMessage',
  'eachBatchAutoResolve',
  'fromBeginning',
]
const MIN_RETRIES = 8

/** Checks every bound and relation and reports all problems in one error. @throws ConfigError `CONFIG_INVALID` */
export function resolveKafka(options: KafkaOptions): ResolvedKafka {
  const problems: string[] = []
  const topics = Array.isArray(options.topics) ? [...new Set<string>(options.topics)] : []
  const { sessionTimeout, heartbeatInterval, maxWaitTimeInMs, ...passed } = {
    ...DEFAULTS.consumer,
    ...options.consumer,
  }
  const { partitionAssigners, ...others } = passed
  const retry = { ...DEFAULTS.retry, ...options.consumer?.retry }
  const { deadLetterTopic = (topic: string): string => `${topic}.dead-letter` } = options
  const deadLetterTopicOf = typeof deadLetterTopic === 'function' ? deadLetterTopic : (): string => deadLetterTopic
  const resolved = {
    commitEveryMs: options.commitEveryMs ?? DEFAULTS.commitEveryMs,
    maxBytesInFlight: options.maxBytesInFlight ?? DEFAULTS.maxBytesInFlight,
    maxWatermarkLag: options.maxWatermarkLag ?? DEFAULTS.maxWatermarkLag,
    partitionsConsumedConcurrently: options.partitionsConsumedConcurrently ?? DEFAULTS.partitionsConsumedConcurrently,
  }
  const numbers = {
    ...resolved,
    'consumer.sessionTimeout': sessionTimeout,
    'consumer.heartbeatInterval': heartbeatInterval,
    'consumer.maxWaitTimeInMs': maxWaitTimeInMs,
  }

  if (topics.length === 0) problems.push('topics: expected at least one, got none')
  if (typeof options.groupId !== 'string' || options.groupId === '') {
    problems.push(`groupId: expected text, got ${JSON.stringify(options.groupId)}`)
  }
  for (const topic of topics) {
    if (!isTopicName(topic)) problems.push(`topics: expected names of topics, got ${JSON.stringify(topic)}`)
    else checkDeadLetterTopic(topic, deadLetterTopicOf(topic), topics, problems)
  }
  for (const [name, value] of Object.entries(numbers)) {
    if (!Number.isSafeInteger(value) || value < 1)
      problems.push(`${name}: expected a whole number from 1, got ${String(value)}`)
  }
  if (heartbeatInterval * 3 > sessionTimeout) {
    problems.push(
      `consumer: expected sessionTimeout of at least 3 x heartbeatInterval (${heartbeatInterval}), got ${sessionTimeout}: one late heartbeat would end the membership`,
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
  for (const name of OWNED.filter((owned) => Object.hasOwn(options.consumer ?? {}, owned))) {
    problems.push(`consumer.${name}: leave it out, this adapter owns it`)
  }
  if (Object.hasOwn(options.consumer?.retry ?? {}, 'restartOnFailure')) {
    problems.push('consumer.retry.restartOnFailure: leave it out, this adapter owns it')
  }
  if (options.order !== undefined && !ORDERS.includes(options.order)) {
    problems.push(`order: expected ${ORDERS.join(', ')}, got ${JSON.stringify(options.order)}`)
  }
  if (problems.length > 0) throw new ConfigError(problems)

  return Object.freeze({
    topics,
    groupId: options.groupId,
    deadLetterTopicOf,
    assertDeadLetterTopics: options.assertDeadLetterTopics ?? DEFAULTS.assertDeadLetterTopics,
    order: options.order ?? DEFAULTS.order,
    ...resolved,
    heartbeatEveryMs: heartbeatInterval,
    consumer: {
      ...others,
      ...(partitionAssigners === undefined ? {} : { partitionAssigners: [...partitionAssigners] }),
      groupId: options.groupId,
      sessionTimeout,
      heartbeatInterval,
      maxWaitTimeInMs,
      retry,
    },
  })
}

function checkDeadLetterTopic(source: string, target: string, topics: readonly string[], problems: string[]): void {
  if (!isTopicName(target)) {
    problems.push(`deadLetterTopic: expected the name of a topic for ${source}, got ${JSON.stringify(target)}`)
  } else if (topics.includes(target)) {
    problems.push(
      `topics: expected none of the dead-letter topics, got ${target}, where dead letters of ${source} go: they would be consumed again for ever`,
    )
  }
}

function isTopicName(topic: unknown): boolean {
  return typeof topic === 'string' && TOPIC_NAME.test(topic)
}
