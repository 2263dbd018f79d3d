/** The part of kafkajs that is used. `new Kafka()` of kafkajs 2.2 fits; test/types/kafkajs.ts proves it. */
export interface KafkaLike {
  consumer(config: ConsumerConfigLike): ConsumerLike
  producer(config: ProducerConfigLike): ProducerLike
  admin(config: { readonly retry: RetryLike }): AdminLike
}

interface RetryLike {
  /** @defaultValue 100 */
  readonly initialRetryTime?: number
  /** @defaultValue 1500 */
  readonly maxRetryTime?: number
  readonly factor?: number
  readonly multiplier?: number
  /** @defaultValue 10 */
  readonly retries?: number
}

export interface ConsumerConfigLike {
  readonly groupId: string
  readonly partitionAssigners?: unknown[]
  /** @defaultValue 30000 */
  readonly metadataMaxAge?: number
  /** @defaultValue 30000 */
  readonly sessionTimeout?: number
  readonly rebalanceTimeout?: number
  readonly heartbeatInterval?: number
  /** @defaultValue 262144 */
  readonly maxBytesPerPartition?: number
  readonly minBytes?: number
  /** @defaultValue 1048576 */
  readonly maxBytes?: number
  readonly maxWaitTimeInMs?: number
  readonly retry?: RetryLike & { readonly restartOnFailure?: (error: Error) => Promise<boolean> }
  /** @defaultValue false */
  readonly allowAutoTopicCreation?: boolean
  readonly maxInFlightRequests?: number
  readonly rackId?: string
}

export interface ConsumerLike {
  connect(): Promise<void>
  disconnect(): Promise<void>
  subscribe(subscription: { topics: string[]; fromBeginning: boolean }): Promise<void>
  run(config: {
    autoCommit: boolean
    eachBatchAutoResolve: boolean
    partitionsConsumedConcurrently: number
    eachBatch: (payload: EachBatchPayloadLike) => Promise<void>
  }): Promise<void>
  stop(): Promise<void>
  commitOffsets(offsets: ({ topic: string } & CommittedOffset)[]): Promise<void>
  seek(to: { topic: string; partition: number; offset: string }): void
  pause(topics: TopicPartitions[]): void
  paused(): TopicPartitions[]
  resume(topics: TopicPartitions[]): void
  on(event: 'consumer.group_join', listener: (event: { payload: GroupJoin }) => void): unknown
  on(event: 'consumer.end_batch_process', listener: (event: { payload: EndBatchProcess }) => void): unknown
  on(event: 'consumer.crash', listener: (event: { payload: { error: Error } }) => void): unknown
  on(event: 'consumer.fetch_start' | 'consumer.fetch', listener: (event: { payload: FetchOf }) => void): unknown
  on(event: 'consumer.rebalancing' | 'consumer.stop', listener: () => void): unknown
}

export interface TopicPartitions {
  topic: string
  partitions: number[]
}

export interface GroupJoin {
  readonly memberAssignment: { readonly [topic: string]: readonly number[] }
}

/** Each broker has a fetch loop of its own. */
interface FetchOf {
  readonly nodeId: number
}

export interface EndBatchProcess {
  readonly topic: string
  readonly partition: number
  readonly batchSize: number
  /** null if the broker sent only records below the requested offset, although kafkajs types it as a string. */
  readonly firstOffset: string
  readonly lastOffset: string
}

export interface EachBatchPayloadLike {
  readonly batch: BatchLike
  resolveOffset(offset: string): void
  heartbeat(): Promise<void>
  commitOffsetsIfNecessary(offsets?: CommitRequest): Promise<void>
}

/** The argument of `eachBatch` in a consumer of the user's own. */
export interface DropInBatchPayloadLike extends EachBatchPayloadLike {
  isRunning(): boolean
  isStale(): boolean
}

export interface EachMessagePayloadLike {
  readonly topic: string
  readonly partition: number
  readonly message: KafkaMessageLike
  heartbeat(): Promise<void>
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

export interface BatchLike {
  readonly topic: string
  readonly partition: number
  readonly highWatermark: string
  /** The requested offset. Always present, although kafkajs does not type it. */
  readonly fetchedOffset?: string
  readonly messages: KafkaMessageLike[]
  /**
   * With markers and aborted messages, and from the beginning of the first record batch. Always present, although
   * kafkajs does not type it.
   */
  readonly rawMessages?: readonly KafkaMessageLike[]
  lastOffset(): string
}

export interface KafkaMessageLike {
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

export interface AdminLike {
  connect(): Promise<void>
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
  describeConfigs(configs: {
    resources: { type: number; name: string; configNames: string[] }[]
    includeSynonyms: boolean
  }): Promise<{ resources: { resourceName: string; configEntries: { configName: string; configValue: string }[] }[] }>
  fetchOffsets(options: {
    groupId: string
    topics: string[]
  }): Promise<{ topic: string; partitions: CommittedOffset[] }[]>
  fetchTopicMetadata(options: { topics: string[] }): Promise<{ topics: { partitions: unknown[] }[] }>
  fetchTopicOffsets(topic: string): Promise<{ partition: number; low: string; high: string }[]>
}

/** What `kafkaSubscription` uses, for checkups and replays. */
export interface SubscriptionKafkaLike extends KafkaLike {
  admin(config: { readonly retry: RetryLike }): SubscriptionAdminLike
}

export interface SubscriptionAdminLike extends CheckupAdminLike, ReplayAdminLike {
  fetchTopicMetadata: CheckupAdminLike['fetchTopicMetadata']
}

/** The part that a checkup uses. */
export interface CheckupKafkaLike {
  admin(config: { readonly retry: RetryLike }): CheckupAdminLike
}

export interface CheckupAdminLike extends Pick<
  AdminLike,
  'connect' | 'disconnect' | 'listTopics' | 'describeConfigs' | 'fetchOffsets' | 'fetchTopicOffsets'
> {
  describeCluster(): Promise<{ brokers: { nodeId: number }[] }>
  describeGroups(groupIds: string[]): Promise<{ groups: { state: string }[] }>
  fetchTopicMetadata(options: { topics: string[] }): Promise<{ topics: { partitions: { replicas: number[] }[] }[] }>
}

/** The part that a replay uses. */
interface ReplayAdminLike extends AdminLike {
  fetchTopicOffsetsByTimestamp(topic: string, timestamp: number): Promise<{ partition: number; offset: string }[]>
  deleteGroups(groupIds: string[]): Promise<unknown>
}

interface ProducerConfigLike {
  readonly idempotent: boolean
  readonly allowAutoTopicCreation: boolean
  readonly retry: RetryLike
  readonly createPartitioner: () => (args: PartitionerArgsLike) => number
}

export interface PartitionerArgsLike {
  readonly partitionMetadata: readonly { readonly partitionId: number; readonly leader: number }[]
  readonly message: { readonly key?: Buffer | string | null; readonly partition?: number }
}

export interface ProducerLike {
  connect(): Promise<void>
  disconnect(): Promise<void>
  send(record: {
    topic: string
    acks: number
    messages: {
      key: Buffer | null
      value: Buffer | null
      headers: { [name: string]: Buffer | string | (Buffer | string)[] }
      partition?: number
    }[]
  }): Promise<{ topicName: string; partition: number; errorCode: number }[]>
}
