import {
  ConfigError,
  checkNames,
  checkOneOf,
  checkText,
  checkNumber,
  givenOf,
  type DurationMs,
} from '../../../src/spi.ts'
import type { Order } from '../options/options.ts'
import { resolveDeadLetter } from '../options/dead-letter.ts'
import type { DeadLetterHeaders, KafkaOptions } from '../options/options.ts'
import type { KafkaLike } from '../kafkajs-like.ts'

export interface DropInOptions {
  /**
   * The group of your consumer. It is part of every key; with it the keys are those of `runKafka`. Without it the
   * consumer's name is used instead: two groups that share a store then need consumers with different names, or the
   * work of one group is a duplicate for the other.
   * @defaultValue the consumer's name
   */
  readonly group?: string
  /**
   * Publishes dead letters and waits for the confirm. Without it, a message that must be dead-lettered causes an error:
   * kafkajs tries it again, restarts, and its partition stops until you give this option.
   */
  readonly kafka?: KafkaLike
  /** With `kafka`: where dead letters go. Your consumer must not read the topic. */
  readonly deadLetter?: KafkaOptions['deadLetter']
  /**
   * With `kafka`: creates a missing dead-letter topic when the first letter goes there.
   * @defaultValue `auto`
   */
  readonly setup?: KafkaOptions['setup']
  /**
   * Which messages are handled one after the other. `key`: those with the same key in one partition; messages without a
   * key have no order. `partition`: all messages of a partition. `none`: no order. kafkajs calls `eachMessage` with one
   * message at a time anyway.
   * @defaultValue `key`
   */
  readonly order?: Order
  /**
   * How often the function asks kafkajs for a heartbeat, in milliseconds. kafkajs sends one when its
   * `heartbeatInterval` is over. Keep it below a third of the session timeout.
   * @defaultValue 1000
   */
  readonly heartbeatEveryMs?: DurationMs
  /**
   * kafkajs 2.2 hands over messages of aborted transactions, and takes seconds for a message with thousands of headers.
   * With `true`, fetched messages are decoded by this library instead, for all consumers of this copy of kafkajs in the
   * process. It is found through `kafka`; without that option it is the copy that this library can load. A message of a
   * transaction that another copy decoded is refused: it causes an error, and its partition stops. With `false` kafkajs
   * is left as it is, and messages of aborted transactions may be handled.
   * @defaultValue `true`
   */
  readonly checkFetches?: boolean
}

export interface ResolvedDropIn {
  readonly group: string | undefined
  readonly kafka: KafkaLike | undefined
  readonly deadLetterTopicOf: (topic: string) => string
  readonly setup: 'auto' | 'check' | 'off'
  readonly deadLetterHeaders: DeadLetterHeaders
  readonly order: Order
  readonly heartbeatEveryMs: DurationMs
  readonly checkFetches: boolean
}

/** The only place that defines defaults. */
const DEFAULTS = {
  setup: 'auto',
  order: 'key',
  heartbeatEveryMs: 1_000,
  checkFetches: true,
} as const satisfies DropInOptions

const KNOWN: Record<keyof DropInOptions, unknown> = { group: true, kafka: true, deadLetter: true, ...DEFAULTS }

/** Checks every bound and relation and reports all problems in one error. @throws ConfigError `CONFIG_INVALID` */
export function resolveDropIn(asked: DropInOptions, of: string): ResolvedDropIn {
  const options = givenOf(asked)
  const problems: string[] = []
  const { group, kafka } = options
  const heartbeatEveryMs = options.heartbeatEveryMs ?? DEFAULTS.heartbeatEveryMs
  checkNames('', options, { of, known: KNOWN }, problems)
  if (group !== undefined) checkText('group', group, problems)
  if (kafka !== undefined && (typeof kafka?.producer !== 'function' || typeof kafka.admin !== 'function')) {
    problems.push('kafka: expected a client such as new Kafka({ brokers }) of kafkajs')
  }
  if (kafka === undefined) {
    for (const name of ['deadLetter', 'setup'] as const) {
      if (options[name] !== undefined)
        problems.push(`${name}: expected with kafka only, which publishes the dead letters`)
    }
  }
  checkNumber('heartbeatEveryMs', heartbeatEveryMs, problems)
  const setup = options.setup ?? DEFAULTS.setup
  const { topic, headers } = resolveDeadLetter(options.deadLetter, of, problems)
  const order = options.order ?? DEFAULTS.order
  checkOneOf('setup', setup, ['auto', 'check', 'off'], problems)
  checkOneOf('order', order, ['key', 'partition', 'none'], problems)
  const checkFetches = options.checkFetches ?? DEFAULTS.checkFetches
  if (typeof checkFetches !== 'boolean')
    problems.push(`checkFetches: expected true or false, got ${typeof checkFetches}`)
  if (problems.length > 0) throw new ConfigError(problems)

  return Object.freeze({
    group,
    kafka,
    deadLetterTopicOf: typeof topic === 'function' ? topic : (): string => topic,
    setup,
    deadLetterHeaders: headers,
    order,
    heartbeatEveryMs,
    checkFetches,
  })
}
