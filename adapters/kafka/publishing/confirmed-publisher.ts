import { Idle, setBroker, StoppedError, systemClock, within, type DurationMs } from '../../../src/internal.ts'
import { AdminClient } from '../admin-client.ts'
import type { KafkaClient } from '../client.ts'
import { defaultPartition } from '../copies/default-partition.ts'
import { partitionsOf } from '../copies/topics.ts'
import { bytesOrNull, checkMessage, sentMessage, type IdentifiedMessage } from './check-message.ts'
import { PartitionLine, refused } from './partition-line.ts'
import { TopicProducers } from './topic-producers.ts'

const CONFIRM_WITHIN_MS = 30_000
const MOST_UNCONFIRMED = 10_000
/** A connection that nobody uses would keep its process alive. */
const IDLE_MS = 5_000
/** As often as Kafka's own clients look for new partitions. */
const LOOK_AGAIN_MS = 300_000

/** Publishes messages that must not be lost. */
export interface ConfirmedPublisher extends AsyncDisposable {
  /**
   * Resolves when all in-sync replicas have the message: the answer of the broker names its partition alone, without an
   * error. A send that fails is repeated with the same message ID, for up to 30 s from the call. After a rejection the
   * error says whether the message may be in the topic all the same; publish it again with the same message ID.
   *
   * Call it without awaiting: what is published meanwhile goes out together, one send to a partition at a time, and
   * messages of one partition are written in the order of the calls. 10,000 messages may wait.
   *
   * @throws ConfigError for a topic, message ID, value, key or header that cannot be sent, or an unknown field
   * @throws BrokerError `BROKER_UNREACHABLE` (no broker answers, nothing was sent), `BROKER_PUBLISH_REFUSED` (a topic or
   * partition that does not exist, a message that is too large, no right to write, no confirmation within 30 s)
   * @throws StoppedError after `close()`
   */
  publish(message: IdentifiedMessage): Promise<void>
  /** Rejects the messages that are not confirmed yet. Idempotent. */
  close(): Promise<void>
}

interface KnownTopic {
  readonly partitions: Promise<number>
  askedAt: number
}

/** With any client. It connects at the first publish, and again at the first one after 5 s without any. */
export class KafkaConfirmedPublisher implements ConfirmedPublisher {
  readonly #producers: TopicProducers
  readonly #adminClient: AdminClient
  readonly #confirmWithinMs: DurationMs
  readonly #topics = new Map<string, KnownTopic>()
  readonly #lines = new Map<string, PartitionLine>()
  readonly #idle: Idle
  #spread = 0
  #closed: Promise<void> | undefined

  constructor(
    client: Pick<KafkaClient, 'producer' | 'admin'>,
    confirmWithinMs: DurationMs = CONFIRM_WITHIN_MS,
    idleMs: DurationMs = IDLE_MS,
  ) {
    this.#producers = new TopicProducers(client)
    setBroker(this, 'kafka')
    this.#adminClient = new AdminClient(client)
    this.#confirmWithinMs = confirmWithinMs
    this.#idle = new Idle(systemClock, idleMs, () => this.#producers.rest())
  }

  async publish(message: IdentifiedMessage): Promise<void> {
    checkMessage(message)
    const { topic } = message
    const isClosed = (): boolean => this.#closed !== undefined
    if (isClosed()) throw new StoppedError('the publisher is closed')
    if (this.#idle.users >= MOST_UNCONFIRMED) {
      throw refused(topic, new Error(`${MOST_UNCONFIRMED} messages are not confirmed yet; await some of them`), false)
    }
    this.#idle.begin()
    try {
      const deadline = performance.now() + this.#confirmWithinMs
      const partitions = await this.#partitionsOf(topic)
      if (isClosed()) throw refused(topic, new Error('the publisher was closed'), false)
      const partition = this.#partitionFor(message, partitions)
      await this.#line(topic, partition).publish(sentMessage(message, partition), deadline)
    } finally {
      this.#idle.end()
    }
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(): Promise<void> {
    for (const line of this.#lines.values()) line.close()
    await this.#producers.close()
    this.#idle.stop()
  }

  #line(topic: string, partition: number): PartitionLine {
    const name = `${topic}/${partition}`
    let line = this.#lines.get(name)
    if (line === undefined) {
      line = new PartitionLine(this.#producers, topic)
      this.#lines.set(name, line)
    }
    return line
  }

  #partitionFor({ topic, key, partition }: IdentifiedMessage, count: number): number {
    if (partition !== undefined) {
      if (partition < count) return partition
      throw refused(topic, new Error(`it has partitions 0 to ${count - 1}, got partition ${partition}`), false)
    }
    const bytes = bytesOrNull(key)
    return bytes === null ? this.#spread++ % count : defaultPartition(bytes, count)
  }

  /** What is known stays in use while it is asked for again. */
  #partitionsOf(topic: string): Promise<number> {
    const known = this.#topics.get(topic)
    const now = performance.now()
    if (known === undefined) {
      const partitions = this.#ask(topic)
      this.#topics.set(topic, { partitions, askedAt: now })
      partitions.catch(() => this.#topics.delete(topic))
      return partitions
    }
    if (now - known.askedAt > LOOK_AGAIN_MS) {
      known.askedAt = now
      const partitions = this.#ask(topic)
      partitions.then(
        () => this.#topics.set(topic, { partitions, askedAt: now }),
        () => {},
      )
    }
    return known.partitions
  }

  async #ask(topic: string): Promise<number> {
    try {
      const asking = partitionsOf(this.#adminClient, topic, 'because nothing creates it for a producer')
      return await within(this.#confirmWithinMs, asking, untold)
    } catch (error) {
      throw refused(topic, error, false)
    }
  }
}

function untold(): Error {
  return new Error('no broker told its partitions in time')
}
