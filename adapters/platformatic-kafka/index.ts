import { ConfigError, type Consumer, type Starting, type Subscription } from '../../src/internal.ts'
import type { AdaptedKafka, KafkaClient } from '../kafka/client.ts'
import type { KafkaOptions } from '../kafka/options/options.ts'
import { KafkaConfirmedPublisher, type ConfirmedPublisher } from '../kafka/publishing/confirmed-publisher.ts'
import { adapted, runOn, subscriptionOn } from '../kafka/run.ts'
import { platformaticClient } from './client.ts'
import type { BaseOptionsLike, PlatformaticLike } from './platformatic-like.ts'
import { isSupported, NEEDED_NODE } from './supported-node.ts'

export type { AdaptedKafka } from '../kafka/client.ts'
export type {
  DeadLetterHeaders,
  KafkaConsumerOptions,
  KafkaDeadLetter,
  KafkaOptions,
  KafkaRetryTopic,
} from '../kafka/options/options.ts'
export type { ConfirmedPublisher } from '../kafka/publishing/confirmed-publisher.ts'
export type { IdentifiedMessage } from '../kafka/publishing/check-message.ts'
export type { BaseOptionsLike, PlatformaticLike } from './platformatic-like.ts'

/** What is used of it, by name. */
const NEEDED = ['Base', 'kGetConnection', 'apiVersionsV3', 'parseBroker', 'createAPI', 'protocolErrors'] as const

/**
 * A client for `runKafka` and `kafkaSubscription`, made of `@platformatic/kafka` 2. Its connections and its codecs of the
 * protocol are used. Groups, fetches, commits and sends are made here, by the classic protocol, or by that of KIP-848
 * (`consumerConfig: { groupProtocol: 'consumer' }`, Kafka 4.0 and later), in which partitions that stay are not interrupted.
 * Nothing is opened in advance.
 *
 * @param platformatic - `import * as platformatic from '@platformatic/kafka'`
 * @param options - as for its `Consumer`: `clientId`, `bootstrapBrokers`, `tls`, `sasl`, `connectTimeout` and others of its
 * connections. `retries` has no effect: the library tries again by itself
 * @throws ConfigError `CONFIG_INVALID`; also on a version of Node that this client does not support
 */
export function platformaticKafka(platformatic: PlatformaticLike, options: BaseOptionsLike): AdaptedKafka {
  const problems: string[] = []
  if (!isSupported(process.versions.node)) {
    problems.push(
      `@platformatic/kafka: expected Node ${NEEDED_NODE}, got ${process.versions.node}; use kafkajs, or another Node`,
    )
  }
  const missing = NEEDED.filter((name) => (platformatic as PlatformaticLike | undefined)?.[name] === undefined)
  if (missing.length > 0) {
    problems.push(
      `platformatic: expected what import * as platformatic from '@platformatic/kafka' gives, of version 2, got something without ${missing.join(', ')}`,
    )
  }
  problems.push(...problemsOf(options))
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `platformaticKafka: ${problem}`))
  return platformaticClient(platformatic, options)
}

function problemsOf(options: Partial<BaseOptionsLike> | undefined): string[] {
  const { clientId, bootstrapBrokers } = options ?? {}
  const problems: string[] = []
  if (typeof clientId !== 'string' || !/^\S+$/.test(clientId)) {
    problems.push(`clientId: expected a text without spaces, got ${JSON.stringify(clientId)}`)
  }
  if (!Array.isArray(bootstrapBrokers) || bootstrapBrokers.length === 0) {
    problems.push(
      `bootstrapBrokers: expected at least one, such as ['localhost:9092'], got ${JSON.stringify(bootstrapBrokers)}`,
    )
  }
  return problems
}

/**
 * Runs a consumer on Kafka topics until it is stopped, as `runKafka` of `consume-once/kafkajs` does, with the same options.
 * `groupProtocol` of `consumerConfig` is for this client. It refuses `retry`, `partitionAssigners`, `maxInFlightRequests`,
 * `rackId` and `allowAutoTopicCreation`, which are for kafkajs.
 *
 * @param kafka - what `platformaticKafka()` returned
 * @throws (rejects) ConfigError `CONFIG_INVALID`: all problems of the options at once; a topic that does not exist; a login
 * that the brokers refuse
 * @throws (rejects) ConfigError `CONSUMER_NAME_TAKEN`: a consumer with another name runs in this group, in this process
 * @throws (rejects) BrokerError `BROKER_UNREACHABLE` if the group cannot be joined at the start
 * @throws (rejects) StoreError if the store cannot be opened
 */
export function runKafka(kafka: AdaptedKafka, consumer: Consumer, options: KafkaOptions): Starting {
  return runOn(adapted(kafka) ?? ANOTHER, consumer, options)
}

/**
 * The group and topics of a consumer, for `adminOf`, `doctor`, replays and the config of the command-line tool. Pass
 * the same arguments as to `runKafka`. Nothing is opened in advance, and each call closes what it has opened.
 *
 * @throws ConfigError `CONFIG_INVALID`, as `runKafka` does
 */
export function kafkaSubscription(kafka: AdaptedKafka, options: KafkaOptions): Subscription {
  const client = adapted(kafka) ?? ANOTHER
  const subscription = subscriptionOn(client, options)
  return client === ANOTHER ? refuse() : subscription
}

/**
 * For producers. It opens its connections at the first publish, and again after a loss. Each send has a number by which the
 * leader recognises it when it is repeated (Kafka's idempotent producer), so that the retries of a publish write its message
 * once. Only after a rejection can it be there twice, under one message ID, if you publish it again.
 *
 * @param kafka - what `platformaticKafka()` returned
 * @throws ConfigError `CONFIG_INVALID` for anything else
 */
export function confirmedPublisher(kafka: AdaptedKafka): ConfirmedPublisher {
  return new KafkaConfirmedPublisher(adapted(kafka) ?? refuse())
}

const refuse = (): never => {
  throw new ConfigError([NOT_ADAPTED])
}
const NOT_ADAPTED =
  'kafka: expected what platformaticKafka() returned; for a client of kafkajs, import from consume-once/kafkajs'
/** Tells of it after the problems of the options. */
const ANOTHER: KafkaClient = {
  given: {},
  member: refuse,
  admin: refuse,
  producer: refuse,
  problems: () => [],
  checkup: () => [],
}
