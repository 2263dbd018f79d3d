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
  OF_THE_CONSUMER,
  placed,
  plainText,
  where,
  whole,
  type Complete,
  type Defaulted,
  type Rule,
  type Table,
  nowCalled,
} from '../../../src/internal.ts'
import {
  CONSUMER,
  consumerConfig,
  OWNED_BY_ADAPTER,
  problemsOfSession,
  type ConsumerConfig,
} from './consumer-options.ts'
import type { DeadLetterHeaders, KafkaConsumerOptions, KafkaOptions, Order } from './options.ts'
import { resolveTopology, RETRY, type Topology } from './topology.ts'
import { DEAD_LETTER } from './dead-letter.ts'

type WithoutDefault = 'order' | 'retry'

type InTopology = 'topics' | 'retry' | 'deadLetter'

/** The options with their defaults. `topology` has those that say where messages come from, and where copies go. */
export interface ResolvedKafka extends Omit<Complete<KafkaOptions, WithoutDefault>, InTopology | 'consumerConfig'> {
  readonly topology: Topology
  readonly deadLetterHeaders: DeadLetterHeaders
  readonly consumerConfig: ConsumerConfig
}

export const SETUP: Defaulted<'auto' | 'check' | 'off'> = or('auto', oneOf('auto', 'check', 'off'))
export const ORDER: Rule<Order> = oneOf('key', 'partition', 'none')

const OPTIONS: Table<KafkaOptions, WithoutDefault> = {
  topics: needed(listOf(where<string>('the name of a topic', isTopicName), { least: 1 })),
  group: needed(plainText()),
  startAt: or('earliest', oneOf('earliest', 'latest')),
  deadLetter: or({}, DEAD_LETTER),
  retry: RETRY,
  setup: SETUP,
  order: ORDER,
  maxBytesInFlight: or(32 * 1024 * 1024, whole()),
  maxWatermarkLag: or(100_000, whole()),
  commitEveryMs: or(1_000, millis()),
  leaveAfterMs: LEAVE_AFTER,
  partitionsConsumedConcurrently: or(8, whole()),
  consumerConfig: or({}, object(CONSUMER)),
}

/** Options that belong elsewhere, with the right place. */
const OF_THE_CLIENT = placed(['brokers', 'clientId', 'ssl', 'sasl', 'logLevel'], 'give it to new Kafka()')
const OF_THE_MEMBER = placed(Object.keys(CONSUMER), 'give it inside of consumerConfig')
const BESIDE_THE_CONSUMER = placed(Object.keys(OPTIONS), 'give it beside consumer, not inside')

const KAFKA: typeof OPTIONS = {
  ...OPTIONS,
  consumerConfig: or(
    {},
    object<KafkaConsumerOptions, never>({
      ...CONSUMER,
      [ELSEWHERE]: { ...OF_THE_CONSUMER, ...OF_THE_CLIENT, ...BESIDE_THE_CONSUMER, ...OWNED_BY_ADAPTER },
    } as never),
  ),
  [ELSEWHERE]: {
    ...OF_THE_CONSUMER,
    ...OF_THE_CLIENT,
    ...OF_THE_MEMBER,
    ...OWNED_BY_ADAPTER,
    start: nowCalled('startAt'),
    consumer: nowCalled('consumerConfig'),
  },
}

/** @param of - the function that got the options. @throws ConfigError `CONFIG_INVALID`, with all problems at once */
export function resolveKafka(asked: KafkaOptions, of = 'runKafka'): ResolvedKafka {
  let topology: Topology | undefined
  const options = optionsOf(of, KAFKA, asked, (all, problems) => {
    topology = resolveTopology(all, problems)
    problemsOfSession(consumerConfig(all), problems)
  })
  if (topology === undefined) throw new TypeError('options without a topology (kafka.resolve)')
  const { topics: _topics, retry: _retry, deadLetter, ...others } = options
  return Object.freeze({
    ...others,
    topology,
    deadLetterHeaders: deadLetter.headers as DeadLetterHeaders,
    consumerConfig: consumerConfig(options),
  })
}
