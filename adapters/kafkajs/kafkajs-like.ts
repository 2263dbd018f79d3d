import type {
  Admin,
  BatchPayload,
  EndBatchProcess,
  GroupJoin,
  MemberConfig,
  MemberControl,
  Producer,
  RawMessage,
  RetryConfig,
} from '../kafka/client.ts'
import type { Choice } from '../kafka/copies/partition-for.ts'

/** The part of kafkajs that is used. `new Kafka()` of kafkajs 2.2 fits; test/types/kafkajs.ts proves it. */
export interface KafkaLike {
  consumer(config: MemberConfig): ConsumerLike
  producer(config: ProducerConfigLike): ProducerLike
  admin(config: { readonly retry: RetryConfig }): AdminLike
}

interface Connects {
  connect(): Promise<void>
}

export interface AdminLike extends Admin, Connects {}

export interface ProducerLike extends Producer, Connects {}

export interface ConsumerLike extends MemberControl, Connects {
  disconnect(): Promise<void>
  subscribe(subscription: { topics: string[]; fromBeginning: boolean }): Promise<void>
  run(config: {
    autoCommit: boolean
    eachBatchAutoResolve: boolean
    partitionsConsumedConcurrently: number
    eachBatch: (payload: BatchPayload) => Promise<void>
  }): Promise<void>
  stop(): Promise<void>
  on(event: 'consumer.group_join', listener: (event: { payload: GroupJoin }) => void): unknown
  on(event: 'consumer.end_batch_process', listener: (event: { payload: EndBatchProcess }) => void): unknown
  on(event: 'consumer.crash', listener: (event: { payload: { error: Error } }) => void): unknown
  on(event: 'consumer.fetch_start' | 'consumer.fetch', listener: (event: { payload: FetchOf }) => void): unknown
  on(event: 'consumer.rebalancing' | 'consumer.stop', listener: () => void): unknown
}

/** Each broker has a fetch loop of its own. */
interface FetchOf {
  readonly nodeId: number
}

/** The argument of `eachBatch` in a consumer of the user's own. */
export interface DropInBatchPayloadLike extends BatchPayload {
  isRunning(): boolean
  isStale(): boolean
}

export interface EachMessagePayloadLike {
  readonly topic: string
  readonly partition: number
  readonly message: RawMessage
  heartbeat(): Promise<void>
}

interface ProducerConfigLike {
  readonly idempotent: boolean
  readonly allowAutoTopicCreation: boolean
  readonly retry: RetryConfig
  readonly createPartitioner: () => (args: Choice) => number
}
