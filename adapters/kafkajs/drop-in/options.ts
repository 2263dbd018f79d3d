import { ConfigError, checkNames, checkOneOf, checkText, checkWhole, type DurationMs } from '../../../src/spi.ts'
import type { Order } from '../intake/delivery.ts'
import type { DeadLetterHeaders, KafkaOptions } from '../options/options.ts'
import type { KafkaLike } from '../slice.ts'

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
  /**
   * With `kafka`: the topic for dead letters, or a function of the topic from which a message was consumed. Your
   * consumer must not read it.
   * @defaultValue `${topic}.dead-letter`
   */
  readonly deadLetterTopic?: KafkaOptions['deadLetterTopic']
  /**
   * With `kafka`: creates a missing dead-letter topic when the first letter goes there.
   * @defaultValue true
   */
  readonly assert?: KafkaOptions['assert']
  /**
   * With `kafka`: as for `runKafka`.
   * @defaultValue `own`
   */
  readonly deadLetterHeaders?: KafkaOptions['deadLetterHeaders']
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
}

export interface ResolvedDropIn {
  readonly group: string | undefined
  readonly kafka: KafkaLike | undefined
  readonly deadLetterTopicOf: (topic: string) => string
  readonly assert: boolean | 'check'
  readonly deadLetterHeaders: DeadLetterHeaders
  readonly order: Order
  readonly heartbeatEveryMs: DurationMs
}

/** The only place that defines defaults. */
const DEFAULTS = {
  assert: true,
  deadLetterHeaders: 'own',
  order: 'key',
  heartbeatEveryMs: 1_000,
} as const satisfies DropInOptions

const KNOWN: Readonly<Record<keyof DropInOptions, true>> = {
  group: true,
  kafka: true,
  deadLetterTopic: true,
  assert: true,
  deadLetterHeaders: true,
  order: true,
  heartbeatEveryMs: true,
}

/** Checks every bound and relation and reports all problems in one error. @throws ConfigError `CONFIG_INVALID` */
export function resolveDropIn(options: DropInOptions): ResolvedDropIn {
  const problems: string[] = []
  const { group, kafka, deadLetterTopic = (topic: string): string => `${topic}.dead-letter` } = options
  const heartbeatEveryMs = options.heartbeatEveryMs ?? DEFAULTS.heartbeatEveryMs
  checkNames('', options, { known: KNOWN }, problems)
  if (group !== undefined) checkText('group', group, problems)
  if (kafka !== undefined && (typeof kafka?.producer !== 'function' || typeof kafka.admin !== 'function')) {
    problems.push('kafka: expected a client such as new Kafka({ brokers }) of kafkajs')
  }
  if (kafka === undefined) {
    for (const name of ['deadLetterTopic', 'assert', 'deadLetterHeaders'] as const) {
      if (options[name] !== undefined)
        problems.push(`${name}: expected with kafka only, which publishes the dead letters`)
    }
  }
  checkWhole('heartbeatEveryMs', heartbeatEveryMs, problems)
  const assert = options.assert ?? DEFAULTS.assert
  const deadLetterHeaders = options.deadLetterHeaders ?? DEFAULTS.deadLetterHeaders
  const order = options.order ?? DEFAULTS.order
  checkOneOf('assert', assert, [true, 'check', false], problems)
  checkOneOf('deadLetterHeaders', deadLetterHeaders, ['own', 'spring', 'both'], problems)
  checkOneOf('order', order, ['key', 'partition', 'none'], problems)
  if (problems.length > 0) throw new ConfigError(problems)

  return Object.freeze({
    group,
    kafka,
    deadLetterTopicOf: typeof deadLetterTopic === 'function' ? deadLetterTopic : (): string => deadLetterTopic,
    assert,
    deadLetterHeaders,
    order,
    heartbeatEveryMs,
  })
}
