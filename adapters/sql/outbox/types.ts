import type { DurationMs, Outbox, OutgoingMessage, RelayEvent } from '../../../src/internal.ts'

/** Publishes one message and resolves when its broker has confirmed it: `confirmedPublisher()` of an adapter. */
export interface OutboxPublisher<Message> {
  publish(message: Message): Promise<void>
}

/** Of the outbox of any database. */
export interface OutboxOptions {
  /**
   * By broker: `confirmedPublisher(kafka)` of `consume-once/kafkajs` or `/platformatic-kafka`, and `confirmedPublisher(connect)`
   * of `/amqplib`. You close them. A message for a broker that has none here waits, and counts as refused.
   * @defaultValue none, for an outbox with `relay: false`
   */
  readonly publishers?: {
    // eslint-disable-next-line @typescript-eslint/no-explicit-any
    readonly kafka?: OutboxPublisher<any>
    // eslint-disable-next-line @typescript-eslint/no-explicit-any
    readonly rabbitmq?: OutboxPublisher<any>
  }
  /** `auto` creates the tables, `check` refuses to start without them. @defaultValue `auto` */
  readonly setup?: 'auto' | 'check'
  /**
   * Whether consumers on the store publish beside their work. With `false` they only write, and another process must run the
   * relay: `start()`, or `consume-once relay`.
   * @defaultValue true
   */
  readonly relay?: boolean
  /**
   * How often a relay looks for messages of other processes, in milliseconds. Those of its own process it knows at once.
   * @defaultValue 100
   */
  readonly pollMs?: DurationMs
  /**
   * After so many attempts a message is parked: it holds up its line no longer, and a person decides (`refused()`,
   * `redrive()`). While a broker is down no attempt is counted. @defaultValue none: it is tried until it is parked
   */
  readonly maxAttempts?: number
  /** Told of what the relay does. @defaultValue nobody */
  readonly observe?: (event: RelayEvent) => void
}

/** Any client whose transaction is open: a client of `pg`, a connection of `mysql2/promise`, `ctx.tx` of a handler. */
export interface QueryLike {
  query(text: string, values: unknown[]): Promise<unknown>
}

/** Messages that are committed together with their effect, and published after that. */
export interface SqlOutbox extends Outbox {
  /**
   * Writes messages in a transaction of yours: the COMMIT of it commits them too. In a handler use `ctx.publish`. A message
   * without a `messageId` gets a random one, and its order is that of the messages with the same `order` or key.
   *
   * @throws ConfigError for a message that cannot be sent, and for a pool, which would write outside of the transaction
   */
  publish(tx: QueryLike, messages: OutgoingMessage | readonly OutgoingMessage[]): Promise<void>
  /**
   * The same as text and values, for a client that runs raw SQL in its transaction in its own way.
   *
   * @throws ConfigError for a message that cannot be sent, and for none
   */
  statement(messages: OutgoingMessage | readonly OutgoingMessage[]): {
    readonly text: string
    readonly values: unknown[]
  }
}
