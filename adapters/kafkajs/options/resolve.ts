import {
  ConfigError,
  checkNames,
  checkOneOf,
  checkText,
  checkWhole,
  givenOf,
  resolveLeaveAfter,
  type DurationMs,
} from '../../../src/spi.ts'
import { CONSUMER_OPTIONS, OWNED_BY_ADAPTER, resolveConsumer } from './consumer-options.ts'
import type { DeadLetterHeaders, KafkaOptions, Order } from './options.ts'
import type { ConsumerConfigLike } from '../kafkajs-like.ts'
import { resolveTopology, type Topology } from './topology.ts'
import { resolveDeadLetter } from './dead-letter.ts'

export interface ResolvedKafka {
  /** All topics to which the group subscribes, including retry topics. */
  readonly topics: readonly string[]
  readonly topology: Topology
  readonly group: string
  readonly start: 'earliest' | 'latest'
  readonly setup: 'auto' | 'check' | 'off'
  readonly deadLetterHeaders: DeadLetterHeaders
  readonly order: Order | undefined
  readonly commitEveryMs: DurationMs
  /** `undefined`: never. */
  readonly leaveAfterMs: DurationMs | undefined
  readonly maxBytesInFlight: number
  readonly maxWatermarkLag: number
  readonly partitionsConsumedConcurrently: number
  readonly heartbeatEveryMs: DurationMs
  readonly sessionMs: DurationMs
  readonly consumer: ConsumerConfigLike
}

/** The only place that defines defaults, except those of `consumer`. */
const DEFAULTS = {
  start: 'earliest',
  setup: 'auto',
  commitEveryMs: 1_000,
  maxBytesInFlight: 32 * 1024 * 1024,
  maxWatermarkLag: 100_000,
  partitionsConsumedConcurrently: 8,
} as const satisfies Partial<KafkaOptions>

const KAFKA_OPTIONS: Record<keyof KafkaOptions, unknown> = {
  topics: true,
  group: true,
  deadLetter: true,
  retry: true,
  order: true,
  consumer: true,
  leaveAfterMs: true,
  ...DEFAULTS,
}

/** Options that belong elsewhere, with the right place. */
const OF_THE_CLIENT = placed(['brokers', 'clientId', 'ssl', 'sasl', 'logLevel'], 'give it to new Kafka()')
const OF_THE_CONSUMER = placed(Object.keys(CONSUMER_OPTIONS), 'give it inside of consumer')
const BESIDE_THE_CONSUMER = placed(Object.keys(KAFKA_OPTIONS), 'give it beside consumer, not inside')

/** Checks every bound and relation and reports all problems in one error. @throws ConfigError `CONFIG_INVALID` */
export function resolveKafka(asked: KafkaOptions, of = 'runKafka()'): ResolvedKafka {
  const options = givenOf(asked)
  const problems: string[] = []
  const misplaced = { ...OF_THE_CLIENT, ...OF_THE_CONSUMER, ...OWNED_BY_ADAPTER }
  checkNames('', options, { of, known: KAFKA_OPTIONS, misplaced }, problems)
  const given = { ...DEFAULTS, ...options }
  const { start, setup, order } = given
  const { commitEveryMs, maxBytesInFlight, maxWatermarkLag, partitionsConsumedConcurrently } = given
  const numbers = { commitEveryMs, maxBytesInFlight, maxWatermarkLag, partitionsConsumedConcurrently }

  const deadLetter = resolveDeadLetter(options.deadLetter, of, problems)
  const topology = resolveTopology(options, deadLetter.topic, of, problems)
  checkText('group', options.group, problems)
  for (const [name, value] of Object.entries(numbers)) checkWhole(name, value, problems)
  const leaveAfterMs = resolveLeaveAfter(options.leaveAfterMs, problems)
  if (order !== undefined) checkOneOf('order', order, ['key', 'partition', 'none'], problems)
  checkOneOf('start', start, ['earliest', 'latest'], problems)
  checkOneOf('setup', setup, ['auto', 'check', 'off'], problems)
  const consumer = resolveConsumer(options, { of, elsewhere: { ...OF_THE_CLIENT, ...BESIDE_THE_CONSUMER } }, problems)
  if (problems.length > 0) throw new ConfigError(problems)

  return Object.freeze({
    topics: topology.subscribed,
    topology,
    group: options.group,
    start,
    setup,
    deadLetterHeaders: deadLetter.headers,
    order,
    ...numbers,
    leaveAfterMs,
    heartbeatEveryMs: consumer.heartbeatInterval,
    sessionMs: consumer.sessionTimeout,
    consumer,
  })
}

function placed(names: readonly string[], where: string): Readonly<Record<string, string>> {
  return Object.fromEntries(names.map((name) => [name, where]))
}
