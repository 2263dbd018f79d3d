import { published } from '../../src/outbox/outgoing.ts'
import { RunPublishing } from '../../src/outbox/publishing.ts'
import type {
  Outbox,
  Outgoing,
  OutgoingMessage,
  OutgoingSystem,
  PublishedBy,
  Publishing,
} from '../../src/ports/outbox.ts'

/** A message that a handler has published and its transaction has committed, as the broker would get it. */
export interface Published {
  readonly system: OutgoingSystem
  /** The topic, or the exchange and the routing key. */
  readonly place: string
  readonly messageId: string
  /** Of Kafka. */
  readonly key: Buffer | null
  readonly value: Buffer | null
  /** Bytes on Kafka. */
  readonly headers: Readonly<Record<string, unknown>>
  /** The idempotency key of the message that was handled. */
  readonly by: string
}

/** An outbox in memory, for tests: it keeps what is published, and nothing sends it. Share it as its database is shared. */
export class MemoryOutbox implements Outbox {
  /** What was committed, in that order. */
  readonly published: Published[] = []
  readonly isBesideConsumers = false

  publishing(): Publishing {
    return new Signed()
  }

  /** The COMMIT of a transaction in memory. */
  write(messages: readonly Outgoing[]): void {
    this.published.push(...messages.map(publishedOf))
  }

  async open(): Promise<void> {}
  start(): void {}
  async stop(): Promise<void> {}
  watch(): void {}
  wake(): void {}

  async checkup(): Promise<readonly never[]> {
    return []
  }

  async backlog(): Promise<readonly never[]> {
    return []
  }

  async refused(): Promise<readonly never[]> {
    return []
  }

  async unconfirmedOf(): Promise<readonly never[]> {
    return []
  }

  async redrive(): Promise<number> {
    return 0
  }
}

interface SignedOutgoing extends Outgoing {
  readonly by: string
}

/** Notes beside each message whose handler published it. */
class Signed implements Publishing {
  readonly #run = new RunPublishing()
  readonly #by: string[] = []

  publish(message: OutgoingMessage, by: PublishedBy): Promise<string> {
    const messageId = this.#run.publish(message, by)
    this.#by.push(by.idempotencyKey)
    return messageId
  }

  end(): readonly SignedOutgoing[] {
    return this.#run.end().map((message, at) => ({ ...message, by: this.#by[at] ?? '' }))
  }
}

function publishedOf(message: Outgoing): Published {
  const { system, place, messageId, key, value } = message
  const { headers = {} } = published(message) as { readonly headers?: Published['headers'] }
  const { by } = message as SignedOutgoing
  return { system, place, messageId, key: key && Buffer.from(key), value: value && Buffer.from(value), headers, by }
}
