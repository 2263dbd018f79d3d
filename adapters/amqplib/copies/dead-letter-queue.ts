import { systemClock, type DeadLetter, type Publisher } from '../../../src/internal.ts'
import type { ReopeningPublisher } from '../publishing/confirmed-publisher.ts'
import { ConfirmedCopies } from './confirmed-copies.ts'
import { deadLetterHeaders } from './copy-headers.ts'

/** Publishes dead letters to a queue that must exist. */
export class DeadLetterQueue implements Publisher {
  readonly #copies: ConfirmedCopies
  readonly #queue: string

  constructor(publisher: ReopeningPublisher, queue: string) {
    this.#copies = new ConfirmedCopies(publisher)
    this.#queue = queue
  }

  async deadLetter(deadLetter: DeadLetter): Promise<void> {
    await this.#copies.publish(
      deadLetter,
      { routingKey: this.#queue },
      deadLetterHeaders(deadLetter, systemClock.now()),
    )
  }
}
