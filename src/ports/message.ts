import type { EpochMs } from '../core/units.ts'

/** The name of a broker. A source of your own has one of its own: short, lower case, as in OpenTelemetry's `messaging.system`. */
export type BrokerSystem = 'kafka' | 'rabbitmq' | 'bullmq' | 'memory' | (string & {})

/** A message as the broker delivered it. The bytes belong to the client: read them, never change them. */
export interface Message {
  readonly system: BrokerSystem
  /** Topic or queue that delivered the message. */
  readonly destination: string
  /**
   * Topic or queue to which the message was first published. Retry and dead-letter copies keep it. Part of the scope.
   */
  readonly origin: string
  /** Position in the destination, for people and logs: `3@1204` (partition@offset), or a delivery tag. */
  readonly position: string
  /** Partition key or routing key. Not the key of the record. */
  readonly key: Uint8Array | null
  /** The bytes of the payload; `null` is a tombstone. */
  readonly value: Uint8Array | null
  /** Headers as the client decoded them: bytes or text, an array if a header is repeated. Read own properties only. */
  readonly headers: Readonly<Record<string, unknown>>
  /** The AMQP property `messageId`. */
  readonly messageId?: string | undefined
  readonly timestamp?: EpochMs | undefined
  /** The timestamp of the original, if this is a copy with a timestamp of its own. */
  readonly firstTimestamp?: EpochMs | undefined
  /** The redelivery flag of the broker, if it has one. A message without the flag is not necessarily new. */
  readonly redelivered?: boolean | undefined
}
