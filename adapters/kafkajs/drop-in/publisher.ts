import { ConfigError, isTopicName, promiseRefused, type DeadLetter, type Publisher } from '../../../src/internal.ts'
import { AdminClient } from '../../kafka/admin-client.ts'
import { ConfirmedProducer } from '../../kafka/copies/confirmed-producer.ts'
import type { ResolvedDropIn } from './options.ts'
import { KafkaPublisher } from '../../kafka/copies/publisher.ts'
import { kafkajsClient } from '../client.ts'
import type { KafkaLike } from '../kafkajs-like.ts'
import { NAME_AT_ONCE, Topology } from '../../kafka/options/topology.ts'

/** Publishes the dead letters of a consumer whose topics are known only from its messages. */
export class DropInPublisher implements Publisher {
  readonly #publisher: KafkaPublisher
  readonly #deadLetterTopicOf: ResolvedDropIn['deadLetterTopicOf']
  /** The dead-letter topic of each topic seen so far. */
  readonly #places = new Map<string, string>()

  constructor(kafka: KafkaLike, { deadLetterTopicOf, deadLetterHeaders, setup }: ResolvedDropIn) {
    this.#deadLetterTopicOf = deadLetterTopicOf
    const client = kafkajsClient(kafka)
    this.#publisher = new KafkaPublisher({
      producer: new ConfirmedProducer(client),
      adminClient: new AdminClient(client),
      topology: () => this.#topology(),
      setup,
      deadLetterHeaders,
    })
  }

  /**
   * Checks the dead-letter topic of a topic before its first message is handled.
   *
   * @throws ConfigError `CONFIG_INVALID` if dead letters would be consumed again, for ever
   */
  admit(topic: string): void {
    if (this.#places.has(topic)) return
    const place: unknown = this.#deadLetterTopicOf(topic)
    const refused = promiseRefused('deadLetter.topic', place, NAME_AT_ONCE)
    if (refused !== undefined) throw new ConfigError([refused])
    if (!isTopicName(place)) {
      throw new ConfigError([
        `deadLetter.topic: expected the name of a topic for ${topic}, got ${JSON.stringify(place)}`,
      ])
    }
    const places = new Map(this.#places).set(topic, place)
    for (const [source, target] of places) {
      if (!places.has(target)) continue
      throw new ConfigError([
        `deadLetter.topic: expected a topic that this consumer does not read, got ${target}, where dead letters of ${source} go: they would be consumed again for ever`,
      ])
    }
    this.#places.set(topic, place)
  }

  deadLetter(deadLetter: DeadLetter): Promise<void> {
    return this.#publisher.deadLetter(deadLetter)
  }

  close(): Promise<void> {
    return this.#publisher.close()
  }

  #topology(): Topology {
    const places = [...this.#places].map(([source, topic]) => ({
      kind: 'dead-letter' as const,
      topic,
      sources: [source],
      delayMs: 0,
    }))
    return new Topology([...this.#places.keys()], places)
  }
}
