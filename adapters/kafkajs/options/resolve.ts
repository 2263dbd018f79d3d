import {
  ELSEWHERE,
  isTopicName,
  LEAVE_AFTER,
  listOf,
  millis,
  needed,
  object,
  oneOf,
  optionsOf,
  or,
  plainText,
  where,
  whole,
  type Defaulted,
  type DurationMs,
  type Rule,
  type Table,
} from '../../../src/internal.ts'
import { CONSUMER, consumerConfig, OWNED_BY_ADAPTER, problemsOfSession } from './consumer-options.ts'
import type { DeadLetterHeaders, KafkaConsumerOptions, KafkaOptions, Order } from './options.ts'
import type { ConsumerConfigLike } from '../kafkajs-like.ts'
import { resolveTopology, RETRY, type Topology } from './topology.ts'
import { DEAD_LETTER } from './dead-letter.ts'

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

type WithoutDefault = 'order' | 'retry'

export const SETUP: Defaulted<'auto' | 'check' | 'off'> = or('auto', oneOf('auto', 'check', 'off'))
export const ORDER: Rule<Order> = oneOf('key', 'partition', 'none')

const OPTIONS: Table<KafkaOptions, WithoutDefault> = {
  topics: needed(listOf(where<string>('the name of a topic', isTopicName), { least: 1 })),
  group: needed(plainText()),
  start: or('earliest', oneOf('earliest', 'latest')),
  deadLetter: or({}, DEAD_LETTER),
  retry: RETRY,
  setup: SETUP,
  order: ORDER,
  maxBytesInFlight: or(32 * 1024 * 1024, whole()),
  maxWatermarkLag: or(100_000, whole()),
  commitEveryMs: or(1_000, millis()),
  leaveAfterMs: LEAVE_AFTER,
  partitionsConsumedConcurrently: or(8, whole()),
  consumer: or({}, object(CONSUMER)),
}

/** Options that belong elsewhere, with the right place. */
const OF_THE_CLIENT = placed(['brokers', 'clientId', 'ssl', 'sasl', 'logLevel'], 'give it to new Kafka()')
const OF_THE_CONSUMER = placed(Object.keys(CONSUMER), 'give it inside of consumer')
const BESIDE_THE_CONSUMER = placed(Object.keys(OPTIONS), 'give it beside consumer, not inside')

const KAFKA: typeof OPTIONS = {
  ...OPTIONS,
  consumer: or(
    {},
    object<KafkaConsumerOptions, never>({
      ...CONSUMER,
      [ELSEWHERE]: { ...OF_THE_CLIENT, ...BESIDE_THE_CONSUMER, ...OWNED_BY_ADAPTER },
    } as never),
  ),
  [ELSEWHERE]: { ...OF_THE_CLIENT, ...OF_THE_CONSUMER, ...OWNED_BY_ADAPTER },
}

/** @param of - the function that got the options. @throws ConfigError `CONFIG_INVALID`, with all problems at once */
export function resolveKafka(asked: KafkaOptions, of = 'runKafka'): ResolvedKafka {
  let topology: Topology | undefined
  const options = optionsOf(of, KAFKA, asked, (all, problems) => {
    topology = resolveTopology(all, problems)
    problemsOfSession(consumerConfig(all), problems)
  })
  const consumer = consumerConfig(options)
  if (topology === undefined) throw new TypeError('options without a topology (kafka.resolve)')
  const { leaveAfterMs, deadLetter } = options
  return Object.freeze({
    topics: topology.subscribed,
    topology,
    group: options.group,
    start: options.start,
    setup: options.setup,
    deadLetterHeaders: deadLetter.headers as DeadLetterHeaders,
    order: options.order,
    commitEveryMs: options.commitEveryMs,
    maxBytesInFlight: options.maxBytesInFlight,
    maxWatermarkLag: options.maxWatermarkLag,
    partitionsConsumedConcurrently: options.partitionsConsumedConcurrently,
    leaveAfterMs: leaveAfterMs === 'never' ? undefined : leaveAfterMs,
    heartbeatEveryMs: consumer.heartbeatInterval,
    sessionMs: consumer.sessionTimeout,
    consumer,
  })
}

function placed(names: readonly string[], place: string): Readonly<Record<string, string>> {
  return Object.fromEntries(names.map((name) => [name, place]))
}
