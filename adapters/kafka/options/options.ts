import type { DurationMs } from '../../../src/internal.ts'
import type { MemberConfig } from '../client.ts'

/**
 * Options of the client's consumer, in the words of kafkajs, without those that this adapter owns: `groupId`, `readUncommitted`,
 * `restartOnFailure`.
 */
export type KafkaConsumerOptions = Omit<MemberConfig, 'groupId' | 'retry' | 'partitionAssigners'> & {
  /** Only with kafkajs. All members of a group need the same. */
  readonly partitionAssigners?: readonly unknown[]
  /** Only with kafkajs. @defaultValue 10 retries, at most 1.5 s apart. At least 8, because kafkajs never resets the count. */
  readonly retry?: Omit<NonNullable<MemberConfig['retry']>, 'restartOnFailure'>
}

/** A topic in which messages wait for their next attempt. */
export interface KafkaRetryTopic {
  /**
   * The time from the failure to the next attempt, in milliseconds, at most 2147483647 (24.8 days). The attempt may be
   * later by a tenth of it, at most one second, plus `maxWaitTimeInMs`.
   */
  readonly delayMs: DurationMs
  /**
   * The topic, or a function of the topic to which a message was first published; one topic may serve all. No other
   * group may consume it, because it would handle the copies too.
   * @defaultValue `${topic}.${group}.retry-${n}`, n from 1
   */
  readonly topic?: string | ((origin: string) => string)
}

/** Which messages are handled one after the other: those of one key, of one partition, or none. */
export type Order = 'key' | 'partition' | 'none'

export type DeadLetterHeaders = 'own' | 'spring' | 'both'

/** Where dead letters go. */
export interface KafkaDeadLetter {
  /**
   * The topic, or a function of the topic to which a message was first published. The group must not consume it.
   * @defaultValue `${topic}.dead-letter`
   */
  readonly topic?: string | ((origin: string) => string)
  /**
   * Names of the headers. `spring`: the header names of Spring Kafka (`kafka_dlt-original-topic` and so on, numbers in
   * binary), plus the library's own for the origin topic, which is part of a message's scope, and for fields that Spring
   * does not have: reason, attempts, parked, times, consumer.
   * @defaultValue `own`
   */
  readonly headers?: DeadLetterHeaders
}

export interface KafkaOptions {
  /** At least one. All members of a group must have the same topics. */
  readonly topics: readonly string[]
  readonly group: string
  /**
   * Where the group begins in a topic of `topics` for which it has no committed offset in any partition. `latest`: at
   * the end of the topic when the first member started; `runKafka` resolves after these offsets are committed.
   * Partitions that are added later are read from their beginning. It also applies after the broker has removed the
   * offsets of a group that was away for long (`offsets.retention.minutes`, 7 days): with `latest` messages of that
   * time are not handled. All members need the same value.
   * @defaultValue `earliest`
   */
  readonly startAt?: 'earliest' | 'latest'
  readonly deadLetter?: KafkaDeadLetter
  /**
   * Retry topics: where a failed message waits while it has attempts left. After the first attempt it waits in the
   * first topic, after the second in the second, and then in the last one, up to the consumer's `maxAttempts`. The
   * original is settled when its copy is confirmed, so no other message waits behind it, and the order of its key or
   * partition is lost. The group also consumes these topics, so all members need the same ones. The store must remember
   * a message for longer than it waits (`retentionMs`). Not allowed with strategy `offsets`.
   * @defaultValue none: a failed message waits in its lane, and so do the messages behind it
   */
  readonly retry?: { readonly topics: readonly KafkaRetryTopic[] }
  /**
   * What to do at the start about missing dead-letter and retry topics. `auto`: create them, a retry topic with as many
   * partitions as the topic that it serves, a dead-letter topic with one partition, with the broker's default
   * replication, and with room for the headers of the largest message; if one is deleted later, it is created again.
   * `check`: throw an error that names all missing topics. `off`: do nothing; a copy for a missing topic is then
   * published again and again until the topic exists, and the commits of its partition wait.
   * @defaultValue `auto`
   */
  readonly setup?: 'auto' | 'check' | 'off'
  /**
   * Which messages are handled one after the other. `key`: those with the same key in one partition; messages without a
   * key have no order. `partition`: all messages of a partition. `none`: no order.
   * @defaultValue `key`; a store of strategy `offsets` requires and defaults to `partition`
   */
  readonly order?: Order
  /**
   * The most bytes of keys and values of one partition that are in flight; one message may exceed it. At the limit no
   * more messages of the partition are taken until half is left. The consumer's `maxInFlight` limits their number in
   * the same way. Messages that kafkajs has fetched beyond that, at most one batch of each partition, wait as raw
   * bytes.
   * @defaultValue 32 MiB
   */
  readonly maxBytesInFlight?: number
  /**
   * The most offsets from the lowest unfinished message of a partition to the next message to take. At the limit no
   * more messages of the partition are taken until the lowest one has ended. So it limits how many messages behind one
   * stuck message are handled before the partition stops. Finished messages behind it are kept in memory (about 30
   * bytes each), and after a crash they are redelivered as duplicates.
   * @defaultValue 100000
   */
  readonly maxWatermarkLag?: number
  /**
   * How often watermarks are committed, in milliseconds. With a longer interval more messages are redelivered after a
   * crash.
   * @defaultValue 1000
   */
  readonly commitEveryMs?: DurationMs
  /**
   * How long the store may be down before this process leaves the group, in whole milliseconds, so that processes
   * whose store answers get its messages. It joins again when its store answers. When all processes have lost their store,
   * each leaves once and comes back once. Shorter than the failover of your store: each failover costs a rebalance, and
   * nothing is gained. `never`: it stays, and its messages wait for it. Without effect with `onStoreDown:
   * 'run-unprotected'` and in mode `observe`. At most 2147483647 (24.8 days).
   * @defaultValue 60000
   */
  readonly leaveAfterMs?: DurationMs | 'never'
  /**
   * The number of batches of one fetch that are processed at once. It does not limit handlers, which run outside of
   * kafkajs.
   * @defaultValue 8
   */
  readonly partitionsConsumedConcurrently?: number
  /**
   * Options for the consumer of the client. `maxWaitTimeInMs` defaults to 500, `metadataMaxAge` to 30000, `maxBytes` to 1 MiB
   * and `maxBytesPerPartition` to 256 KiB, because kafkajs decodes a fetch response synchronously and keeps all its
   * bytes while one of its messages is in flight. For a distant broker (50 ms and more) higher values are faster. A
   * message above these limits is delivered anyway.
   */
  readonly consumerConfig?: KafkaConsumerOptions
}
