import type { SourceEvent } from '../../src/index.ts'

/** What a source tells the intake, for observers and logs. */
export type RabbitEvent =
  | 'consuming'
  | 'rebuilt'
  | 'connection-lost'
  | 'channel-closed'
  /** By the broker: the queue was deleted, or the consumer timeout ran out. */
  | 'consumer-cancelled'
  /** The queue holds messages and the broker delivers none of them here: the consumer is built again. */
  | 'consumer-stalled'
  /** A settle was refused that must not be sent: the channel is opened anew. */
  | 'invariant-broken'
  | 'set-up-failed'
  | 'lane-failed'
  /** A queue may drop messages that come back too often. */
  | 'delivery-limit'
  /** A queue drops messages that nobody has handled: by length, age, or because nobody consumes it. */
  | 'message-limits'
  /** A queue is gone when the broker restarts, or when its last consumer leaves. */
  | 'durability'
  /** The queue's own dead-letter exchange may lose what is rejected. */
  | 'dead-letter-strategy'
  /** The queue has it and the options have not, or the reverse. */
  | 'single-active-consumer'
  /** A delay queue may lose copies when the broker stops. */
  | 'delay-queue'
  /** `assert: false`: a queue that was declared otherwise than this consumer needs. */
  | 'queue-mismatch'
  /** How a queue was declared cannot be found out. */
  | 'queue-unknown'
  /** A delay or dead-letter queue had vanished. */
  | 'queue-declared-again'
  /** The broker's default timeout is near to how long a message may be under way. */
  | 'consumer-timeout'
  /** Longer than half the heartbeat; at most once a minute. */
  | 'loop-blocked'
  /** A delayed copy has not come back in time; once, until it has. */
  | 'delayed-overdue'

/** What belongs to a normal day. */
const INFORMS: ReadonlySet<RabbitEvent> = new Set(['consuming', 'rebuilt', 'queue-declared-again'])

export function sourceEvent(event: RabbitEvent, detail: string): SourceEvent {
  return { type: 'source', event, detail, ...(INFORMS.has(event) ? {} : { isWarning: true }) }
}
