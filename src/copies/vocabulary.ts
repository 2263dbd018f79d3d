import { isReservedHeader } from '../core/reserved-header.ts'

/**
 * The headers that the library writes into messages: retry copies, dead letters and replayed messages, on every broker.
 * The prefix is reserved, so that no header of a producer is overwritten or removed. No `x-`: RabbitMQ 4 regards those
 * as its own. This file is the only place of their names.
 *
 * Values are UTF-8 text; RabbitMQ, whose headers have types, gets counts and milliseconds as numbers and flags as
 * booleans. `values.ts` reads both.
 */
export const COPY_HEADER = {
  /** Where the message was first published: its origin, and so part of its scope. Every broker but RabbitMQ. */
  originTopic: 'consume-once-origin-topic',
  originPartition: 'consume-once-origin-partition',
  originOffset: 'consume-once-origin-offset',
  /** Milliseconds since 1970, and `LogAppendTime`, or nothing for `CreateTime`. */
  originTimestamp: 'consume-once-origin-timestamp',
  originTimestampType: 'consume-once-origin-timestamp-type',
  /** Kafka: `true` or `false`. Some readers cannot tell a null key from an empty one. */
  originKeyPresent: 'consume-once-origin-key-present',
  /** The same on RabbitMQ. */
  originQueue: 'consume-once-origin-queue',
  originExchange: 'consume-once-origin-exchange',
  originRoutingKey: 'consume-once-origin-routing-key',

  /** The key of the message in logs, lists and the command-line tool. */
  key: 'consume-once-key',
  attempts: 'consume-once-attempts',
  /** Name and group of the consumer that made the copy. On RabbitMQ the group is the origin queue. */
  consumer: 'consume-once-consumer',
  group: 'consume-once-group',
  host: 'consume-once-host',
  /** Class and text of the last failure. */
  errorClass: 'consume-once-error-class',
  detail: 'consume-once-detail',
  /** ISO 8601. */
  firstSeenAt: 'consume-once-first-seen-at',
  firstFailureAt: 'consume-once-first-failure-at',

  /** Retry copies: when the next attempt is due, in milliseconds since 1970, and on RabbitMQ the queue that delays. */
  notBefore: 'consume-once-not-before',
  delayQueue: 'consume-once-delay-queue',

  /** Dead letters: why, whether the effect may have happened, and since when (ISO 8601). */
  reason: 'consume-once-reason',
  parked: 'consume-once-parked',
  deadLetteredAt: 'consume-once-dead-lettered-at',
  setAsideAt: 'consume-once-set-aside-at',
  /** `true`: an earlier dead letter of the same message had the same reason. */
  repeated: 'consume-once-repeated',
  /** `true`: the headers `kafka_dlt-…` of this dead letter are not those of its producer. */
  springHeaders: 'consume-once-spring-headers',

  /** Names of the producer's headers that did not fit into the copy. RabbitMQ. */
  headersDropped: 'consume-once-headers-dropped',
  /** Identifies a message that RabbitMQ returns: a return has no sequence number. */
  publishId: 'consume-once-publish-id',
  /** `true`: the message has no value, which AMQP cannot express. */
  tombstone: 'consume-once-tombstone',

  /** The replay or redrive that sent the message, and how many have. */
  replayId: 'consume-once-replay-id',
  replayCount: 'consume-once-replay-count',
} as const

export type CopyHeader = (typeof COPY_HEADER)[keyof typeof COPY_HEADER]

/** About the message, not about one copy of it: every copy keeps them, and a redrive does too. */
const OF_MESSAGE: ReadonlySet<string> = new Set([COPY_HEADER.tombstone, COPY_HEADER.replayId, COPY_HEADER.replayCount])

/** True for a header that describes a copy, or where its message came from: the next copy has its own. */
export function describesCopy(name: string): boolean {
  return isReservedHeader(name) && !OF_MESSAGE.has(name)
}

/** Written by RabbitMQ about deliveries. */
export function isBrokerHeader(name: string): boolean {
  return OF_BROKER.test(name)
}

const OF_BROKER = /^x-(?:death|delivery-count|acquired-count|first-death-.*|last-death-.*)$/
