import type { EpochMs } from '../core/units.ts'

/** A message as its broker delivered it. Bytes are the client's own: read them, never change them. */
export interface Message {
  readonly system: 'kafka' | 'rabbitmq' | 'memory'
  /** Topic or queue it was delivered from. */
  readonly destination: string
  /** Topic or queue it was first published to; retry and dead-letter copies carry it along. Part of the scope. */
  readonly origin: string
  /** Where in the destination, for people and logs: `3@1204` (partition@offset), or a delivery tag. */
  readonly position: string
  /** Partition key or routing key. Not our key. */
  readonly key: Uint8Array | null
  /** The payload's bytes; `null` is a tombstone. */
  readonly value: Uint8Array | null
  /** As the client decoded them: bytes or text, an array where a header is repeated. Read own properties only. */
  readonly headers: Readonly<Record<string, unknown>>
  /** AMQP `messageId` property. */
  readonly messageId?: string | undefined
  readonly timestamp?: EpochMs | undefined
  /** The broker's hint, where it gives one. Says nothing about "new". */
  readonly redelivered?: boolean | undefined
}
