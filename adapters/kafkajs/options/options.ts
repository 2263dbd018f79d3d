import type { DurationMs } from '../../../src/index.ts'
import type { Order } from '../intake/delivery.ts'
import type { ConsumerConfigLike } from '../slice.ts'
import type { Topology } from '../copies/topology.ts'

/** Options of kafkajs's consumer. What this adapter owns is missing: `groupId`, `readUncommitted`, `restartOnFailure`. */
export type KafkaConsumerOptions = Omit<ConsumerConfigLike, 'groupId' | 'retry' | 'partitionAssigners'> & {
  readonly partitionAssigners?: readonly unknown[]
  /** @defaultValue 10 retries, at most 1.5 s apart. At least 8: kafkajs never resets the count. */
  readonly retry?: Omit<NonNullable<ConsumerConfigLike['retry']>, 'restartOnFailure'>
}

/** A place where messages wait for their next attempt. */
export interface KafkaRetryTopic {
  /**
   * From the failure to the next attempt, at most 2147483647 (24.8 days). The attempt may come later by a tenth of it, at most
   * by a second, and by `maxWaitTimeInMs`.
   */
  readonly delayMs: DurationMs
  /**
   * A topic, or a function of the topic a message was first published to; one topic may serve all. It belongs to this group
   * alone: another group on it would handle the copies too. @defaultValue `${topic}.${groupId}.retry-${n}`, n from 1
   */
  readonly topic?: string | ((origin: string) => string)
}

export type DeadLetterHeaders = 'own' | 'spring' | 'both'

export interface KafkaOptions {
  /** At least one. All members of a group must have the same. */
  readonly topics: readonly string[]
  readonly groupId: string
  /**
   * Where the group begins in a topic of `topics` in which it has no offset for any partition. `latest`: at the end, as it was
   * at the start of the first member; `runKafka` resolves when that is committed. Partitions that are added later are read from
   * their beginning. Also where the broker has forgotten the offsets of a group that was away for long
   * (`offsets.retention.minutes`, 7 days): what came meanwhile is not handled. All members need the same.
   * @defaultValue `earliest`
   */
  readonly start?: 'earliest' | 'latest'
  /**
   * Where dead letters go: a topic, or a function of the topic they were first published to. Must not lead to a topic that
   * the group consumes. @defaultValue `${topic}.dead-letter`
   */
  readonly deadLetterTopic?: string | ((origin: string) => string)
  /**
   * Where a message waits that failed and has attempts left: after the first attempt on the first of these topics, after the
   * second on the second, then on the last again and again, up to the consumer's `maxAttempts`. The original is settled when
   * its copy is confirmed: nothing waits behind it, and the order of its key or partition is given up. The group consumes
   * these topics too, so all members need the same. The store must remember a message for longer than it waits
   * (`retentionMs`). Not for strategy `offsets`. @defaultValue none: a message waits in its lane, and what comes after it in
   * that lane waits too
   */
  readonly retry?: { readonly topics: readonly KafkaRetryTopic[] }
  /**
   * What happens at the start to the dead-letter and retry topics. `true`: a missing one is created, a retry topic with as many
   * partitions as the topic it serves, a dead-letter topic with one; with the broker's default replication and room for the
   * headers of the largest message; when one vanishes later, it is created again. `'check'`: a missing one is an error that names all of them. `false`: nobody looks; a copy whose topic is missing is
   * published again and again until it is there, and holds its partition's commits back meanwhile. @defaultValue true
   */
  readonly assert?: boolean | 'check'
  /**
   * Names of the headers that explain a dead letter. `spring`: what Spring Kafka has a name for goes by that
   * (`kafka_dlt-original-topic` and so on, numbers in binary), beside `x-original-topic`, which is part of a message's scope,
   * and what Spring has no name for: reason, attempts, parked, times, consumer. @defaultValue `own`
   */
  readonly deadLetterHeaders?: DeadLetterHeaders
  /**
   * What is handled in turn. `key`: messages of one key in one partition; messages without a key in no order.
   * `partition`: a whole partition, one at a time. `none`: nothing. @defaultValue `key`; with a store of strategy
   * `offsets` `partition`, and nothing else
   */
  readonly order?: Order
  /**
   * Bytes of keys and values of one partition that are taken and not finished, exceeded by one message at most. At the limit nothing
   * more of that partition is taken until half is left. The consumer's `maxInFlight` bounds their number likewise. What kafkajs has
   * fetched beyond that, one batch of each partition at most, waits as raw bytes. @defaultValue 32 MiB
   */
  readonly maxBytesInFlight?: number
  /**
   * Offsets from the lowest unfinished message of a partition to the next one that would be taken. At the limit nothing more of that
   * partition is taken until the lowest message has ended. So this says how many messages behind one stuck message are handled before
   * its partition stops. What finishes behind it is remembered until it ends: a higher limit takes memory (about 30 bytes each), and
   * that many messages come again after a crash, as duplicates. @defaultValue 100000
   */
  readonly maxWatermarkLag?: number
  /** How often watermarks are committed. Longer: more is redelivered after a crash. @defaultValue 1000 */
  readonly commitEveryMs?: DurationMs
  /** Batches taken over at once from one fetch. Handlers run outside of it: this bounds none of them. @defaultValue 8 */
  readonly partitionsConsumedConcurrently?: number
  /**
   * Passed through to kafkajs's consumer. `maxWaitTimeInMs` defaults to 500, `metadataMaxAge` to 30000, `maxBytes` to 1 MiB and
   * `maxBytesPerPartition` to 256 KiB: kafkajs decodes what one fetch brings in one stretch, and keeps all of its bytes while one
   * message of it is under way. A broker far away (50 ms and more) is read faster with more. A larger message comes all the same.
   */
  readonly consumer?: KafkaConsumerOptions
}

export interface ResolvedKafka {
  /** All topics the group subscribes to. */
  readonly topics: readonly string[]
  readonly topology: Topology
  readonly groupId: string
  readonly start: 'earliest' | 'latest'
  readonly assert: boolean | 'check'
  readonly deadLetterHeaders: DeadLetterHeaders
  readonly order: Order | undefined
  readonly commitEveryMs: DurationMs
  readonly maxBytesInFlight: number
  readonly maxWatermarkLag: number
  readonly partitionsConsumedConcurrently: number
  readonly heartbeatEveryMs: DurationMs
  readonly consumer: ConsumerConfigLike
}
