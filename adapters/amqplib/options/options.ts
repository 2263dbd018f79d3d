import type { DurationMs, Message } from '../../../src/index.ts'

/** A queue in which messages wait for their next attempt. */
export interface RabbitDelayQueue {
  /** From the failure to the next attempt, in whole milliseconds, at most 2147483647 (24.8 days): its `x-message-ttl`. */
  readonly delayMs: DurationMs
  /** It belongs to this queue alone: what waits there comes back here. @defaultValue `<queue>.retry.<delayMs>` */
  readonly queue?: string
}

interface RabbitBusy {
  /**
   * How long a message waits in its lane while another process is busy with it. Then it leaves this process, delayed until
   * the other's lease must have ended; no attempt is spent. At least 1. @defaultValue 2000
   */
  readonly busyWaitMs?: DurationMs
}

/** Copies wait in queues of their own, on any server. */
export interface RabbitDelayQueues extends RabbitBusy {
  /**
   * Milliseconds, or `{ delayMs, queue }`. After the first attempt a message waits in the first of these queues, after the
   * second in the second, then in the last again and again, up to the consumer's `maxAttempts`. The original is acked when
   * its copy is confirmed: nothing waits behind it, and the order of its lane is given up. A copy comes back to the tail of
   * the queue, and waits there behind what is ready. The store must remember a message for longer than it waits
   * (`retentionMs`). A message that another process is busy with goes to the shortest that outlasts the other's lease.
   */
  readonly delayQueues: readonly (DurationMs | RabbitDelayQueue)[]
  readonly delayedByQueue?: never
  /**
   * How long after its time a delayed copy may be missing before `delayed-overdue` is told. Set it above the time a message
   * takes from the queue's tail to its head. Told only while this is the queue's only consumer: a copy that is missing here may
   * have gone to another one. At least 1. @defaultValue 60000
   */
  readonly overdueAfterMs?: DurationMs
}

/** The queue itself delays what comes back: quorum queues of RabbitMQ 4.3 and later. */
export interface RabbitDelayedByQueue extends RabbitBusy {
  /**
   * `x-delayed-retry-type: all`, `-min` and `-max` of the queue, in whole milliseconds: a failed message is rejected and
   * waits `minMs` times the number of its returns, at most `maxMs`; one that another process is busy with is given back and
   * waits `minMs`. No copies, no further queues, no confirms. The order of its lane is given up. Refused below 4.3, where
   * the broker accepts the arguments and delays nothing.
   */
  readonly delayedByQueue: { readonly minMs: DurationMs; readonly maxMs: DurationMs }
  readonly delayQueues?: never
  readonly overdueAfterMs?: never
}

export type RabbitRetry = RabbitDelayQueues | RabbitDelayedByQueue

export interface RabbitOptions {
  /** The queue to consume: the group of the scope. 1 to 255 bytes. */
  readonly queue: string
  /**
   * Deliveries taken and not yet settled, 1 to 1000. Fewer than the handlers that run at once (`concurrency`; of an inbox
   * `transactions`) are refused. @defaultValue twice what can be claimed at once (`concurrency`; of an inbox `transactions` x
   * `batchSize`), at least 10, at most 1000
   */
  readonly prefetch?: number
  /**
   * `true`: queue, delay queues and dead-letter queue are declared, durable, where they are missing, also when one vanishes
   * later; where they exist they must be alike, but for the delivery limit, which is a warning. `'check'`: they must exist,
   * a delay queue with its delay and target; what else can lose messages is a warning. `false`: warnings only, but
   * consuming a queue that is missing fails; a copy whose queue is missing is published again and again until it is there.
   * How an existing queue was declared is found out by declaring it otherwise, which changes nothing. What a policy adds
   * cannot be seen, nor the queues behind a dead-letter exchange. @defaultValue true
   */
  readonly assert?: true | 'check' | false
  /**
   * Of queues that `assert: true` declares. `classic` delay queues move what is due at most once: a broker that stops in
   * that moment loses the copy. @defaultValue `quorum`
   */
  readonly queueType?: 'quorum' | 'classic'
  /**
   * Where a message waits that failed and has attempts left. Not for strategy `offsets`. @defaultValue none: it waits in
   * its lane, unacked, and what comes after it in that lane waits too
   */
  readonly retry?: RabbitRetry
  /**
   * How a message gets to its dead-letter place. `publish`: as a copy with headers that say why, confirmed before the
   * original is acked. `reject`: the queue's own dead-letter exchange moves it, without the reason, and at most once unless
   * the queue has `x-dead-letter-strategy: at-least-once`; the queue must exist and have `x-dead-letter-exchange`, or the
   * broker would drop the message: refused, with `assert: false` a warning. @defaultValue `publish`
   */
  readonly deadLetter?: 'publish' | 'reject'
  /** Where dead letters go, by the default exchange. Not the queue consumed. @defaultValue `<queue>.dead-letter` */
  readonly deadLetterQueue?: string
  /**
   * An exchange of your own for dead letters, instead of `deadLetterQueue`. It is never declared here, and must lead each
   * dead letter to at least one queue: one that no queue takes is published again and again, and its original stays.
   */
  readonly deadLetterExchange?: string
  /** With `deadLetterExchange`, at most 255 bytes. @defaultValue the key the message was first published with */
  readonly deadLetterRoutingKey?: string
  /**
   * The ordering key: messages of one lane are handled in the order they arrive, one at a time. Across processes that
   * needs a single active consumer. Should it throw, the message has no lane. @defaultValue none, no order
   */
  readonly lane?: (message: Message) => string | undefined
  /** Acks gathered in as few frames as possible; `false`: each at once. @defaultValue true */
  readonly ackBatch?: boolean
  /**
   * The queue has `x-single-active-consumer` (declared so by `assert: true`): a stop then hands nothing over before all
   * that was dispatched is finished. @defaultValue false
   */
  readonly singleActiveConsumer?: boolean
  /**
   * How long the broker lets a delivery be unacked before it takes it away, in milliseconds: its `consumer_timeout`, which
   * nobody can ask for. On quorum queues of RabbitMQ 4.3 and later it is also set, for this consumer; elsewhere say what
   * the broker has. It must be longer than the store's lease and than a handler may run, its grace included: refused if
   * not, and a warning where the default is not at least twice as long. @defaultValue 1800000, the broker's default
   */
  readonly consumerTimeoutMs?: DurationMs
}
