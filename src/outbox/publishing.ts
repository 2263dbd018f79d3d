import { TransactionError } from '../foundation/errors.ts'
import type { Outgoing, OutgoingMessage, PublishedBy, Publishing } from '../ports/outbox.ts'
import { outgoingOf } from './outgoing.ts'

/** In memory. */
export class RunPublishing implements Publishing {
  readonly #messages: Outgoing[] = []
  /** How many each message being handled has published. */
  readonly #calls = new Map<string, number>()
  #isOver = false

  publish(message: OutgoingMessage, { idempotencyKey, traceparent }: PublishedBy): Promise<string> {
    if (this.#isOver) {
      throw new TransactionError('TRANSACTION_OVER', 'publish: the handler has ended, and its transaction with it')
    }
    const call = this.#calls.get(idempotencyKey) ?? 0
    const messageId = `${idempotencyKey}-${call}`
    const outgoing = outgoingOf(message, { messageId, order: idempotencyKey, traceparent })
    this.#calls.set(idempotencyKey, call + 1)
    this.#messages.push(outgoing)
    return Promise.resolve(outgoing.messageId)
  }

  end(): readonly Outgoing[] {
    this.#isOver = true
    return this.#messages
  }
}
