import {
  ELSEWHERE,
  flag,
  having,
  millis,
  OF_THE_CONSUMER,
  optionsOf,
  or,
  plainText,
  type Complete,
  type DurationMs,
  type Table,
} from '../../../src/internal.ts'
import type { Order } from '../../kafka/options/options.ts'
import { DEAD_LETTER } from '../../kafka/options/dead-letter.ts'
import { ORDER, SETUP } from '../../kafka/options/resolve.ts'
import type { DeadLetterHeaders, KafkaDeadLetter, KafkaOptions } from '../../kafka/options/options.ts'
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

export interface ResolvedDropIn extends Omit<Complete<DropInOptions, 'group' | 'kafka'>, 'deadLetter'> {
  readonly deadLetterTopicOf: (topic: string) => string
  readonly deadLetterHeaders: DeadLetterHeaders
}

const DROP_IN: Table<DropInOptions, 'group' | 'kafka'> = {
  group: plainText(),
  kafka: having('a client such as new Kafka({ brokers }) of kafkajs', 'producer', 'admin'),
  deadLetter: or({}, DEAD_LETTER),
  setup: SETUP,
  order: or('key', ORDER),
  heartbeatEveryMs: or(1_000, millis()),
  checkFetches: or(true, flag()),
  [ELSEWHERE]: OF_THE_CONSUMER,
}

/** @throws ConfigError `CONFIG_INVALID`, with all problems at once */
export function resolveDropIn(asked: DropInOptions, of: string): ResolvedDropIn {
  const options = optionsOf(of, DROP_IN, asked, ({ kafka }, problems) => {
    for (const name of ['deadLetter', 'setup'] as const) {
      if (kafka === undefined && asked[name] !== undefined)
        problems.push(`${name}: expected with kafka only, which publishes the dead letters`)
    }
  })
  const { deadLetter, ...others } = options
  const { topic, headers } = deadLetter as Required<KafkaDeadLetter>
  const deadLetterTopicOf = typeof topic === 'function' ? topic : (): string => topic
  return Object.freeze({ ...others, deadLetterTopicOf, deadLetterHeaders: headers })
}
