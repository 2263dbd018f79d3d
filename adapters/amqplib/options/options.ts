import type { DurationMs, Message } from '../../../src/internal.ts'

/** A queue in which messages wait for their next attempt. */
export interface RabbitDelayQueue {
  /**
   * The time from the failure to the next attempt, in whole milliseconds, at most 2147483647 (24.8 days): the queue's
   * `x-message-ttl`.
   */
  readonly delayMs: DurationMs
  /**
   * No other queue may use it: its messages come back to this queue.
   * @defaultValue `<queue>.retry.<delayMs>`
   */
  readonly queue?: string
}

/** Copies wait in separate queues, on any server version. */
export interface RabbitDelayQueues {
  /**
   * Milliseconds, or `{ delayMs, queue }`. After the first attempt a message waits in the first of these queues, after
   * the second in the second, and then in the last one, up to the consumer's `maxAttempts`. The original is acked when
   * its copy is confirmed, so no other message waits behind it, and the order of its lane is lost. A copy comes back to
   * the tail of the queue, behind the messages that are ready. The store must remember a message for longer than it
   * waits (`retentionMs`). A message that another process is busy with goes to the queue with the shortest delay that
   * outlasts the other's lease.
   */
  readonly delayQueues: readonly (DurationMs | RabbitDelayQueue)[]
  readonly delayedByQueue?: never
  /**
   * How late a delayed copy may be before the event `delayed-overdue`, in milliseconds. Set it above the time that a
   * message takes from the tail of the queue to its head. The event is only sent while this is the only consumer of the
   * queue, because another consumer may have got the missing copy. At least 1.
   * @defaultValue 60000
   */
  readonly overdueAfterMs?: DurationMs
}

/** The queue itself delays returned messages: quorum queues of RabbitMQ 4.3 and later. */
export interface RabbitDelayedByQueue {
  /**
   * `x-delayed-retry-type: all`, `-min` and `-max` of the queue, in whole milliseconds. A failed message is rejected
   * and waits `minMs` times the number of its returns, at most `maxMs`. A message that another process is busy with is
   * returned and waits `minMs`. This needs no copies, no further queues and no confirms. The order of its lane is lost.
   * Refused below 4.3, where the broker accepts the arguments but delays nothing.
   */
  readonly delayedByQueue: { readonly minMs: DurationMs; readonly maxMs: DurationMs }
  readonly delayQueues?: never
  readonly overdueAfterMs?: never
}

export type RabbitRetry = RabbitDelayQueues | RabbitDelayedByQueue

/** Where dead letters are published. */
export type RabbitDeadLetter =
  | {
      /**
       * The queue, through the default exchange. Must not be the consumed queue.
       * @defaultValue `<queue>.dead-letter`
       */
      readonly queue?: string
      readonly exchange?: never
      readonly routingKey?: never
    }
  | {
      /**
       * An exchange of your own. The library never declares it. It must route each dead letter to at least one queue:
       * an unroutable one is published again and again, and its original stays.
       */
      readonly exchange: string
      /**
       * At most 255 bytes.
       * @defaultValue the key with which the message was first published
       */
      readonly routingKey?: string
      readonly queue?: never
    }

export interface RabbitOptions {
  /** The queue to consume. It is the group in the scope. 1 to 255 bytes. */
  readonly queue: string
  /**
   * The most unsettled deliveries, 1 to 1000. Must be at least the number of handlers that run at once (`concurrency`;
   * in an inbox `transactions`).
   * @defaultValue twice the number of messages that can be claimed at once (`concurrency`; in an inbox `transactions` x
   * `batchSize`), at least 10, at most 1000
   */
  readonly prefetch?: number
  /**
   * What to do about queues at the start. `auto`: declare the consumed queue, delay queues and dead-letter queue as
   * durable if they are missing, and again if one is deleted later. An existing queue must have the same arguments;
   * only another delivery limit is a warning. `check`: the queues must exist, and a delay queue must have its delay
   * and target; anything else that can lose messages is a warning. `off`: only warn. To consume a missing queue then
   * fails, and a copy for a missing queue is published again and again until the queue exists. Each of them refuses a
   * stream, and a queue that is not durable or is auto-delete; `auto` and `check` also a delivery limit below
   * `maxAttempts` without a dead-letter exchange. The library finds out
   * how an existing queue was declared by declaring it differently, which changes nothing. It cannot see arguments set
   * by a policy, nor the queues behind a dead-letter exchange.
   * @defaultValue `auto`
   */
  readonly setup?: 'auto' | 'check' | 'off'
  /**
   * Type of the queues that `setup: 'auto'` declares. `classic` delay queues move messages at most once: if the broker
   * stops in that moment, the copy is lost.
   * @defaultValue `quorum`
   */
  readonly queueType?: 'quorum' | 'classic'
  /**
   * Where a failed message waits while it has attempts left. Not allowed with strategy `offsets`.
   * @defaultValue none: it waits in its lane, unacked, and so do the messages behind it in that lane
   */
  readonly retry?: RabbitRetry
  /**
   * Where a dead letter goes: it is published as a copy whose headers say why, and the original is acked after the
   * confirm. `reject`: the queue's own dead-letter exchange moves the message, without the reason, and at most once
   * unless the queue has `x-dead-letter-strategy: at-least-once`. The queue must exist and have
   * `x-dead-letter-exchange`, because otherwise the broker drops the message: refused, or with `setup: 'off'` a
   * warning.
   * @defaultValue `{ queue: '<queue>.dead-letter' }`
   */
  readonly deadLetter?: RabbitDeadLetter | 'reject'
  /**
   * Returns the ordering key: messages of one lane are handled one at a time, in the order of their arrival. Order
   * across processes needs a single active consumer. If it throws, the message has no lane.
   * @defaultValue none, no order
   */
  readonly lane?: (message: Message) => string | undefined
  /**
   * Combines acks into as few frames as possible. `false`: each ack is sent at once.
   * @defaultValue true
   */
  readonly ackBatch?: boolean
  /**
   * The queue has `x-single-active-consumer` (`setup: 'auto'` declares it so). A stop then finishes all delivered
   * messages before the next consumer takes over.
   * @defaultValue false
   */
  readonly singleActiveConsumer?: boolean
  /**
   * How long the store may be down before this process gives its deliveries back and stops consuming, in whole milliseconds, so that processes
   * whose store answers get its messages. It consumes again when its store answers. When all processes have lost their store,
   * each leaves once and comes back once. Shorter than the failover of your store: each failover costs a redelivery of its messages, and
   * nothing is gained. `never`: it stays, and its messages wait for it. Without effect with `onStoreDown:
   * 'run-unprotected'` and in mode `observe`. At most 2147483647 (24.8 days).
   * @defaultValue 60000
   */
  readonly leaveAfterMs?: DurationMs | 'never'
  /**
   * How long the broker leaves a delivery unacked before it takes it back, in milliseconds: its `consumer_timeout`,
   * which a client cannot read. On quorum queues of RabbitMQ 4.3 and later this option also sets it for the consumer;
   * elsewhere give the value of the broker. It must be longer than the store's lease and than the longest run of a
   * handler, including its grace period. If the default is not at least twice as long, there is a warning.
   * @defaultValue 1800000, the broker's default
   */
  readonly consumerTimeoutMs?: DurationMs
}
