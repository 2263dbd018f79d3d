import type { DurationMs } from '../core/units.ts'
import type { CheckFinding } from './checkup.ts'
import type { ReplayPlaces } from './replay.ts'
import type { Strategy } from './store.ts'

/**
 * The group and the origins of a consumer, which are part of its keys, and how to check its broker. `kafkaSubscription` and
 * `rabbitSubscription` build one from the options that run the consumer.
 */
export interface Subscription {
  /** Consumer group; on RabbitMQ the queue. */
  readonly group: string
  /**
   * Topics, or the queue, to which messages are first published. Copies in retry and dead-letter places keep this
   * origin.
   */
  readonly origins: readonly string[]
  /**
   * Checks the settings of the broker for this consumer. It changes nothing. It rejects only if the broker cannot be
   * reached.
   */
  readonly checkup?: (consumer: CheckedConsumer) => Promise<readonly CheckFinding[]>
  /** The places of this broker that can be replayed. @defaultValue none: only files can */
  readonly replay?: ReplayPlaces
}

/** The settings of a consumer that a broker is checked against. */
export interface CheckedConsumer {
  readonly strategy: Strategy
  /** How long `done` is kept. */
  readonly retentionMs: DurationMs
  readonly onBeyondRetention: 'run' | 'park' | 'skip'
  readonly leaseMs: DurationMs
  /** The longest run of a handler, including its grace period. */
  readonly longestRunMs: DurationMs
  readonly maxAttempts: number
}
