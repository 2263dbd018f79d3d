import type { KafkaClient, SentMessage } from '../client.ts'
import { ConfirmedProducer } from '../copies/confirmed-producer.ts'

/** Topics with a producer of their own, and so with connections of their own. */
const MOST_ALONE = 8

/**
 * One producer for all topics, until a send to one of them fails: that topic has its own from then on. kafkajs asks for the
 * metadata of all topics of a producer at once, and a partition without a leader fails the answer, so that one topic would hold
 * up all. A producer that recognises what it sends again keeps its topics.
 */
export class TopicProducers {
  readonly #client: Pick<KafkaClient, 'producer'>
  readonly #shared: ConfirmedProducer
  readonly #alone = new Map<string, ConfirmedProducer>()
  #isClosed = false

  constructor(client: Pick<KafkaClient, 'producer'>) {
    this.#client = client
    this.#shared = new ConfirmedProducer(client)
  }

  /** As that of a producer. */
  async sendAgain(topic: string, messages: SentMessage[], withinMs: number, onSend: () => void): Promise<void> {
    const producer = this.#alone.get(topic) ?? this.#shared
    try {
      await producer.sendAgain(topic, messages, withinMs, onSend)
    } catch (error) {
      if (producer === this.#shared && !producer.recognises && !this.#isClosed && !this.#alone.has(topic)) {
        this.#separate(topic)
      }
      throw error
    }
  }

  /** Closes connections; the next send opens them, again one for all topics. */
  rest(): void {
    for (const producer of [this.#shared, ...this.#alone.values()]) producer.rest()
    this.#alone.clear()
  }

  /** While all brokers are away the sends to every topic fail: the topic that has been alone for longest goes back. */
  #separate(topic: string): void {
    const [oldest] = this.#alone
    if (oldest !== undefined && this.#alone.size >= MOST_ALONE) {
      this.#alone.delete(oldest[0])
      oldest[1].rest()
    }
    this.#alone.set(topic, new ConfirmedProducer(this.#client))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([this.#shared, ...this.#alone.values()].map((producer) => producer.close()))
  }
}
