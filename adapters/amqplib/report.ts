import { SourceEvents } from '../../src/internal.ts'

/** Events of the source for the intake, for observers and logs. */
type RabbitEvent =
  | 'consuming'
  | 'rebuilt'
  /** Its store has been down for `leaveAfterMs`: it does not consume until the store answers. */
  | 'stepped-aside'
  | 'connection-lost'
  | 'channel-closed'
  /** The broker cancelled the consumer: the queue was deleted, or the consumer timeout ran out. */
  | 'consumer-cancelled'
  /** The queue has messages ready and the broker delivers none of them here: the consumer is built again. */
  | 'consumer-stalled'
  /** A settle was refused because it must not be sent: a new channel is opened. */
  | 'invariant-broken'
  | 'set-up-failed'
  | 'lane-failed'
  /** A queue may drop messages that come back too often. */
  | 'delivery-limit'
  /** A queue drops unhandled messages: by length, by age, or because it is not consumed. */
  | 'message-limits'
  /** The queue's own dead-letter exchange may lose rejected messages. */
  | 'dead-letter-strategy'
  /** Queue and options differ in `x-single-active-consumer`. */
  | 'single-active-consumer'
  /** A delay queue may lose copies when the broker stops. */
  | 'delay-queue'
  /** `setup: 'off'`: a queue was declared differently than this consumer needs. */
  | 'queue-mismatch'
  /** It cannot be found out how a queue was declared. */
  | 'queue-unknown'
  /** A delay or dead-letter queue had been deleted, and was declared again. */
  | 'queue-declared-again'
  /** The broker's default timeout is close to the longest time that a message may be in flight. */
  | 'consumer-timeout'
  /** The event loop was blocked for longer than half the heartbeat; at most once a minute. */
  | 'loop-blocked'
  /** A delayed copy has not come back in time; once, until it has. */
  | 'delayed-overdue'

export type RabbitEvents = SourceEvents<RabbitEvent>

export function rabbitEvents(): RabbitEvents {
  return new SourceEvents<RabbitEvent>(['consuming', 'rebuilt', 'queue-declared-again'])
}
