import {
  BrokerError,
  describeError,
  type DeadLetter,
  type DurationMs,
  type MessageCopy,
  type Publisher,
  type RetryCopy,
} from '../../../src/internal.ts'
import type { AdminClient } from '../admin-client.ts'
import { isTooLarge, type ConfirmedProducer } from './confirmed-producer.ts'
import type { ProducedHeaders } from './headers.ts'
import { deadLetterHeaders, minimalHeaders } from './dead-letter-headers.ts'
import type { DeadLetterHeaders } from '../options/options.ts'
import { necessaryRetryHeaders, retryHeaders } from './retry-headers.ts'
import { createMissing } from './topics.ts'
import type { CopyPlace, Topology } from '../options/topology.ts'

interface PublisherParts {
  readonly producer: ConfirmedProducer
  readonly adminClient: AdminClient
  readonly topology: () => Topology
  readonly setup: 'auto' | 'check' | 'off'
  readonly deadLetterHeaders: DeadLetterHeaders
}

/** Publishes copies to the places of a topology. After a rejection the caller tries again, for ever. */
export class KafkaPublisher implements Publisher {
  readonly #parts: PublisherParts
  /** Topics that existed at the last check. */
  readonly #known = new Set<string>()

  constructor(parts: PublisherParts) {
    this.#parts = parts
  }

  async deadLetter(deadLetter: DeadLetter): Promise<void> {
    const { topology, deadLetterHeaders: style } = this.#parts
    const at = new Date()
    const place = topology().deadLetterPlace(deadLetter.message)
    await this.#publish(place, deadLetter, [
      deadLetterHeaders(deadLetter, style, at),
      minimalHeaders(deadLetter, style, at),
    ])
  }

  retryDelayMs(attempts: number): DurationMs | undefined {
    return this.#parts.topology().retryDelayMs(attempts)
  }

  async retryLater(asked: RetryCopy): Promise<void> {
    const at = new Date()
    const place = this.#parts.topology().retryPlace(asked)
    // All copies on a topic wait equally long: one that is due earlier would wait behind the others all the same.
    const copy = asked.why === 'busy' ? { ...asked, delayMs: place.delayMs } : asked
    await this.#publish(place, copy, [retryHeaders(copy, at), necessaryRetryHeaders(copy, at)]) // mutant: kafka-retry-copy-unconfirmed
  }

  close(): Promise<void> {
    return this.#parts.producer.close()
  }

  /** Sends the copy with the first set of headers, or with the second if the first makes it too large. */
  async #publish(
    place: CopyPlace,
    copy: MessageCopy,
    headers: readonly [ProducedHeaders, ProducedHeaders],
  ): Promise<void> {
    const { producer } = this.#parts
    const [all, fewer] = headers
    try {
      await this.#ensure(place)
      try {
        await producer.send(place.topic, copy.message, all)
      } catch (error) {
        if (!isTooLarge(error)) throw error
        await producer.send(place.topic, copy.message, fewer)
      }
    } catch (cause) {
      this.#known.delete(place.topic)
      throw refused(place, copy, cause)
    }
  }

  async #ensure(place: CopyPlace): Promise<void> {
    const { adminClient, setup } = this.#parts
    if (setup === 'off' || this.#known.has(place.topic)) return
    await adminClient.ask(async (admin) => {
      if ((await admin.listTopics()).includes(place.topic)) return
      if (setup !== 'auto') throw new Error("the topic does not exist; create it, or set setup: 'auto'")
      await createMissing(admin, place)
    })
    this.#known.add(place.topic)
  }
}

function refused({ kind, topic }: CopyPlace, { message }: MessageCopy, cause: unknown): BrokerError {
  return new BrokerError(
    'BROKER_PUBLISH_REFUSED',
    `${kind} copy of ${message.destination}/${message.position} to ${topic} was not confirmed: ${describeError(cause)}`,
    { cause },
  )
}
