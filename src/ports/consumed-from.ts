import type { DurationMs } from '../core/units.ts'
import type { CheckFinding } from './checkup.ts'
import type { Strategy } from './store.ts'

/**
 * Where a consumer's messages come from: what is in their keys, and who can be asked. `fromKafka` and `fromRabbit` make one
 * out of the options that run the consumer.
 */
export interface ConsumedFrom {
  /** Consumer group; on RabbitMQ the queue. */
  readonly group: string
  /** Topics, or the queue, that messages are first published to. Their copies on retry and dead-letter places carry it. */
  readonly origins: readonly string[]
  /** Asks the broker what it does to messages, changing nothing. Rejects only where it cannot be reached. */
  readonly checkup?: (consumer: CheckedConsumer) => Promise<readonly CheckFinding[]>
}

/** What of a consumer a broker's settings are held against. */
export interface CheckedConsumer {
  readonly strategy: Strategy
  /** How long `done` is kept. */
  readonly retentionMs: DurationMs
  readonly onBeyondRetention: 'run' | 'park' | 'skip'
  readonly leaseMs: DurationMs
  /** Of a handler, its grace included. */
  readonly longestRunMs: DurationMs
  readonly maxAttempts: number
}
