import type { Message } from './message.ts'

/** The argument of an ID extractor: the message, with its payload decoded on first use. */
export interface IncomingMessage<Decoded> extends Message {
  /**
   * The decoded payload, before the schema check. Reading it decodes the payload; if that fails, the message has no
   * usable ID.
   */
  readonly payload: Decoded
}

/**
 * Returns the business identity of a message, as text or bytes. An ID that is `undefined`, empty, blank, longer than
 * 512 bytes or contains a lone surrogate is not usable: the message is dead-lettered.
 */
export type IdExtractor<Decoded = unknown> = (message: IncomingMessage<Decoded>) => string | Uint8Array | undefined
