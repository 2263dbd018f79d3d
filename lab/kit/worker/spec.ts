import type { KafkaConfig } from 'kafkajs'
import type { RedisOptions } from 'ioredis'
import type { RabbitOptions } from '../../../adapters/amqplib/index.ts'
import type { KafkaOptions } from '../../../adapters/kafkajs/index.ts'
import type { PostgresInboxOptions } from '../../../adapters/pg/index.ts'
import type { RedisLeaseOptions } from '../../../adapters/redis/index.ts'
import type { ConsumerSettings } from '../../../src/index.ts'

/** Settings of a worker, as JSON in its only argument. */
export interface WorkerSpec<Settings> {
  /** Name of this process. Its connections to Postgres carry it, unless their store says another. */
  readonly process: string
  /** It runs a consumer on each, with a store of its own. */
  readonly sources: readonly SourceSpec[]
  readonly store: StoreSpec
  readonly consumer: ConsumerSpec
  /** For its module. */
  readonly settings: Settings
  /** Time for handlers to finish when the worker stops. */
  readonly stopDeadlineMs: number
  /** It loads its modules, and waits for the order `begin`. @defaultValue false */
  readonly isHeld?: boolean
}

export type SourceSpec = KafkaSpec | RabbitSpec

export interface KafkaSpec {
  readonly kind: 'kafka'
  /** @defaultValue kafkajs */
  readonly library?: 'kafkajs' | 'platformatic'
  readonly brokers: readonly string[]
  /** Through which they are reached, however they call themselves. @defaultValue their own */
  readonly port?: number
  readonly client?: Pick<KafkaConfig, 'requestTimeout' | 'retry'>
  readonly options: KafkaOptions
  /** A kafkajs consumer of the user's own, with this function of the library. Takes `topics`, `group` and `consumer`. */
  readonly dropIn?: 'eachMessage' | 'eachBatch'
}

export interface RabbitSpec {
  readonly kind: 'rabbitmq'
  readonly url: string
  readonly options: RabbitOptions
  /** A channel of the user's own, with `onMessage`. Takes `queue` and `prefetch`. */
  readonly dropIn?: 'onMessage'
}

export type StoreSpec = RedisSpec | PostgresSpec | MariadbSpec

export interface RedisSpec {
  readonly on: 'redis'
  readonly strategy: 'lease'
  readonly url: string
  /** `url` is a node of a cluster. */
  readonly isCluster?: boolean
  readonly client?: Pick<RedisOptions, 'maxRetriesPerRequest'>
  readonly options?: Omit<RedisLeaseOptions, 'redis'>
}

export interface PostgresSpec {
  readonly on: 'postgres'
  readonly strategy: 'inbox' | 'offsets' | 'lease'
  readonly url: string
  /** Schema of its tables, and of the tables that handlers use. @defaultValue the schema of the library, and `public` */
  readonly schema?: string
  /** @defaultValue 6 */
  readonly connections?: number
  /** @defaultValue the name of the process */
  readonly applicationName?: string
  readonly options?: Omit<PostgresInboxOptions, 'pool' | 'schema' | 'outbox'>
  /** What its handlers publish goes here, and its relay runs in this process. @defaultValue none */
  readonly outbox?: OutboxSpec
}

export interface OutboxSpec {
  readonly kafka?: readonly string[]
  /** Its address. */
  readonly rabbitmq?: string
}

export interface MariadbSpec {
  readonly on: 'mariadb'
  readonly strategy: 'inbox' | 'lease'
  /** With the database. */
  readonly url: string
}

/** Options that are data. Those that are functions come from the module. */
export type ConsumerSpec = Pick<
  ConsumerSettings<unknown, unknown, never>,
  | 'name'
  | 'scope'
  | 'concurrency'
  | 'transactions'
  | 'batchSize'
  | 'maxInFlight'
  | 'leaseMs'
  | 'retentionMs'
  | 'handlerTimeoutMs'
  | 'graceMs'
  | 'maxAttempts'
  | 'backoff'
  | 'onConflict'
> & { readonly onInDoubt?: 'rerun' | 'park' }
