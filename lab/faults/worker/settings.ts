/** What a worker is started with, as JSON in its only argument. Ports are those of the links before its servers. */
export interface WorkerSettings extends WorkerTuning {
  readonly process: string
  readonly broker: RabbitPlace | KafkaPlace
  readonly store: PostgresPlace | RedisPlace
  /** Of the provider of effects, and under which name it logs them. */
  readonly provider: { readonly port: number; readonly log: string }
  readonly isKeyed: boolean
  readonly onInDoubt: 'rerun' | 'park'
}

export interface PostgresPlace {
  readonly kind: 'inbox' | 'offsets' | 'lease on postgres'
  readonly url: string
  readonly schema: string
  readonly applicationName: string
}

export interface RedisPlace {
  readonly kind: 'lease on redis'
  readonly url: string
  readonly prefix: string
  readonly durability: 'memory' | 'replicas'
}

export interface RabbitPlace {
  readonly kind: 'rabbitmq'
  readonly url: string
  readonly queue: string
}

export interface KafkaPlace {
  readonly kind: 'kafka'
  /** As the broker calls itself. */
  readonly broker: string
  /** Through which it is reached. */
  readonly port: number
  readonly topics: readonly string[]
  readonly hasRetryTopic: boolean
  readonly groupId: string
}

/** What a cell may ask for. */
export interface WorkerTuning {
  readonly leaseMs?: number
  readonly retentionMs?: number
  readonly maxAttempts?: number
  readonly handlerTimeoutMs?: number
  readonly graceMs?: number
  readonly concurrency?: number
  readonly batchSize?: number
  /** Each send of a message carries its own name. */
  readonly resendsDiffer?: boolean
  /** Its calendar is wrong by so much; its timers are not. */
  readonly clockShiftMs?: number
  /** A client of its own, with a function of this library for its messages. */
  readonly isDropIn?: boolean
  readonly planted?: Planted
}

/** Wrong on purpose: a matrix that does not find these shows nothing. */
export type Planted = 'ack-before-mark' | 'mark-skipped' | 'commit-highest'

export const LEASE_MS = 2_000
export const MAX_ATTEMPTS = 5
export const SESSION_MS = 3_000
/** Frees the row that a frozen worker holds. */
export const IDLE_IN_TRANSACTION_MS = 3_000
/** A server could not be used at the start. */
export const EXIT_NOT_STARTED = 75
export const EFFECTS = 'effect'
/** A worker tells it when the signal of a handler aborts. */
export const ABORTED = 'aborted'

/** A line of what a worker tells, with its true time: written before anything else happens, so that a kill loses none. */
export type WorkerLine = { readonly at: number } & (
  | { readonly says: 'running' | 'stopped' }
  | { readonly says: 'hstart'; readonly id: string; readonly token: string }
  | { readonly says: 'hend'; readonly id: string; readonly token: string; readonly how: 'ok' | 'failed' | 'unknown' }
  | { readonly says: 'told'; readonly what: string; readonly id?: string | undefined; readonly detail?: string }
)
