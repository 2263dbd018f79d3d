import type { CheckFinding } from '../../src/internal.ts'
import type { Report } from './report.ts'
import type { TopicPartition } from './topic-partition.ts'

/** A client that is not of kafkajs, made for `runKafka`, as by `platformaticKafka()`. */
export interface AdaptedKafka {
  /** Members of a group may not have the same. */
  readonly given: object
}

/**
 * A Kafka client as this room uses it. Its shapes are those of kafkajs, which needs no translation on the way of a message;
 * another client is adapted to them.
 */
export interface KafkaClient extends AdaptedKafka {
  /** One membership in a group, not begun. */
  member(options: MemberOptions, listener: MemberListener): Promise<GroupMember>
  /** For requests about topics and groups. Connected; rejects if none of the brokers answers. */
  admin(): Promise<Admin>
  /** Connected. It retries little: who sends tries again for ever, with pauses of its own. */
  producer(): Promise<Producer>
  /** Options for its consumer that it does not have, as problems with their names. */
  problems(given: Readonly<Record<string, unknown>>): readonly string[]
  /** What a checkup finds about the client itself. */
  checkup(): readonly CheckFinding[]
}

export interface MemberOptions {
  readonly topics: readonly string[]
  readonly consumerConfig: MemberConfig
  readonly partitionsConsumedConcurrently: number
  readonly companions: Companions | undefined
  readonly report: Report
}

/** What a member tells the leader of its group, and what the leader makes of what it was told. */
export interface Companions {
  readonly userData: Buffer
  /** `topics`: those that the member subscribes to. Never throws. */
  compare(members: readonly { readonly topics: readonly string[]; readonly userData: Buffer }[]): void
}

/** Called synchronously from inside the client: none of these may throw. */
export interface MemberListener {
  batch(payload: BatchPayload): Promise<void>
  controlBatch(batch: EndBatchProcess): void
  joined(join: GroupJoin): void
  /**
   * Partitions have gone or come, and the others are not interrupted (KIP-848). Of those that have gone, `revoking` was told.
   */
  changed(join: GroupJoin): void
  /** These are about to go. Resolves when their last commits are answered, or after a while; nothing of them is settled after it. */
  revoking(partitions: readonly TopicPartition[]): Promise<void>
  rebalancing(): void
  /** A fetch failed. The client may hide the reason, and tries again. */
  fetchFailed(): void
  /** Since the join, or the last call, each broker was fetched from, and a fetch from it began anew. */
  turned(): void
  /** A topic may be another one under its name: the last fetch failed for an unknown reason, or ended long ago. */
  lookedAway(): void
  /** The payloads of this member are invalid from now on. */
  halted(): void
  /** The membership has ended for good. Called at most once, and not after `stop()`. */
  ended(error: Error): void
}

/** From the join to a failure or `stop()`. It never restarts. */
export interface GroupMember {
  readonly consumer: MemberControl
  readonly hasJoined: boolean
  /** Resolves when it has joined the group. If it rejects, `ended` is not called. */
  start(): Promise<void>
  /** Leaves the group. Idempotent, never rejects. */
  stop(): Promise<void>
}

/** Its methods may throw: there is no group between a failure and the next join. */
export interface MemberControl {
  commitOffsets(offsets: ({ topic: string } & CommittedOffset)[]): Promise<void>
  seek(to: { topic: string; partition: number; offset: string }): void
  pause(topics: TopicPartitions[]): void
  paused(): TopicPartitions[]
  resume(topics: TopicPartitions[]): void
}

export interface MemberConfig {
  readonly groupId: string
  /** `consumer` is the protocol of KIP-848, for `consume-once/platformatic-kafka` on Kafka 4.0 and later. @defaultValue classic */
  readonly groupProtocol?: 'classic' | 'consumer'
  /** Only with kafkajs. All members of a group need the same. */
  readonly partitionAssigners?: unknown[]
  /** How old what is known of brokers and partitions may be, in milliseconds. @defaultValue 30000 */
  readonly metadataMaxAge?: number
  /** A member that is silent for so long, in milliseconds, is removed from the group. By KIP-848 the broker says how long. @defaultValue 30000 */
  readonly sessionTimeout?: number
  /** How long the group waits for a member to join again, in milliseconds. */
  readonly rebalanceTimeout?: number
  /**
   * How often a member tells the group that it is there, and hears of a rebalance, in milliseconds: at most a third of
   * `sessionTimeout`. @defaultValue 3000, or a third of a shorter session
   */
  readonly heartbeatInterval?: number
  /** The most bytes of one partition in a fetch. @defaultValue 262144 */
  readonly maxBytesPerPartition?: number
  /** A fetch waits for so many bytes, or for `maxWaitTimeInMs`. */
  readonly minBytes?: number
  /** The most bytes of a fetch. @defaultValue 1048576 */
  readonly maxBytes?: number
  /** How long a fetch waits for messages, in milliseconds. */
  readonly maxWaitTimeInMs?: number
  readonly retry?: RetryConfig & { readonly restartOnFailure?: (error: Error) => Promise<boolean> }
  /** Only with kafkajs. @defaultValue false */
  readonly allowAutoTopicCreation?: boolean
  /** Only with kafkajs. */
  readonly maxInFlightRequests?: number
  /** Only with kafkajs: fetches from a replica in this rack. */
  readonly rackId?: string
}

export interface RetryConfig {
  /** @defaultValue 100 */
  readonly initialRetryTime?: number
  /** @defaultValue 1500 */
  readonly maxRetryTime?: number
  readonly factor?: number
  readonly multiplier?: number
  /** @defaultValue 10 */
  readonly retries?: number
}

export interface TopicPartitions {
  topic: string
  partitions: number[]
}

export interface GroupJoin {
  readonly memberAssignment: { readonly [topic: string]: readonly number[] }
}

export interface EndBatchProcess {
  readonly topic: string
  readonly partition: number
  readonly batchSize: number
  /** null if the broker sent only records below the requested offset, although kafkajs types it as a string. */
  readonly firstOffset: string
  readonly lastOffset: string
}

export interface BatchPayload {
  readonly batch: FetchedBatch
  resolveOffset(offset: string): void
  heartbeat(): Promise<void>
  commitOffsetsIfNecessary(offsets?: CommitRequest): Promise<void>
}

export interface CommitRequest {
  topics: { topic: string; partitions: CommittedOffset[] }[]
}

interface CommittedOffset {
  partition: number
  offset: string
  /** What the next member knows of the log. kafkajs sends it with every commit, although it types it only for some. */
  metadata: string | null
}

export interface FetchedBatch {
  readonly topic: string
  readonly partition: number
  readonly highWatermark: string
  /** The requested offset. Always present, although kafkajs does not type it. */
  readonly fetchedOffset?: string
  readonly messages: RawMessage[]
  /**
   * With markers and aborted messages, and from the beginning of the first record batch. Always present, although
   * kafkajs does not type it.
   */
  readonly rawMessages?: readonly RawMessage[]
  lastOffset(): string
}

export interface RawMessage {
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly timestamp: string
  readonly offset: string
  readonly headers?: { readonly [name: string]: unknown }
  /** Always present, although kafkajs does not type it. */
  readonly batchContext?: {
    readonly timestampType?: number
    readonly partitionLeaderEpoch?: number
    readonly inTransaction?: boolean
  }
}

/** Asks a cluster, and creates topics. Connected. */
export interface Admin {
  disconnect(): Promise<void>
  listTopics(): Promise<string[]>
  createTopics(options: {
    waitForLeaders: boolean
    topics: {
      topic: string
      numPartitions: number
      replicationFactor: number
      configEntries: { name: string; value: string }[]
    }[]
  }): Promise<boolean>
  describeCluster(): Promise<{ brokers: { nodeId: number }[] }>
  describeConfigs(configs: {
    resources: { type: number; name: string; configNames: string[] }[]
    includeSynonyms: boolean
  }): Promise<{ resources: { resourceName: string; configEntries: { configName: string; configValue: string }[] }[] }>
  describeGroups(groupIds: string[]): Promise<{ groups: { state: string }[] }>
  deleteGroups(groupIds: string[]): Promise<unknown>
  fetchOffsets(options: {
    groupId: string
    topics: string[]
  }): Promise<{ topic: string; partitions: CommittedOffset[] }[]>
  fetchTopicMetadata(options: { topics: string[] }): Promise<{ topics: { partitions: { replicas: number[] }[] }[] }>
  fetchTopicOffsets(topic: string): Promise<{ partition: number; low: string; high: string }[]>
  fetchTopicOffsetsByTimestamp(topic: string, timestamp: number): Promise<{ partition: number; offset: string }[]>
}

/** Connected. */
export interface Producer {
  disconnect(): Promise<void>
  /**
   * @param batch - names these messages, for a producer that `recognises`. The same object, sent again after a failure, is
   * written once. All of them go to one partition, to which no other batch is sent meanwhile.
   */
  send(record: SentRecord, batch?: object): Promise<SendAnswer[]>
  /** A batch that was sent already is recognised by its partition. Such a producer goes on after a failure. */
  readonly recognises?: true
}

interface SentRecord {
  topic: string
  acks: number
  messages: SentMessage[]
}

export interface SentMessage {
  key: Buffer | null
  value: Buffer | null
  headers: { [name: string]: Buffer | string | (Buffer | string)[] }
  partition?: number
}

interface SendAnswer {
  topicName: string
  partition: number
  errorCode: number
}
