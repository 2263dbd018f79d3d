import {
  BrokerError,
  Idle,
  setBroker,
  StoppedError,
  systemClock,
  unanswered,
  type DurationMs,
} from '../../../src/internal.ts'
import { connectorOf, type Connector, type RabbitConnect } from '../connection/connector.ts'
import { bytesOf, checkMessage, type IdentifiedMessage } from './check-message.ts'
import { ConfirmChannel, refused, type OutgoingMessage } from './confirm-channel.ts'
import { answerWithin, NoAnswerError } from '../connection/answer-within.ts'

const CONFIRM_WITHIN_MS = 10_000
/** A connection that nobody uses would keep its process alive. */
const IDLE_MS = 5_000

/** Publishes messages that must not be lost. */
export interface ConfirmedPublisher extends AsyncDisposable {
  /**
   * Resolves when the broker has confirmed the message and at least one queue has it. It is persistent and mandatory.
   * After a rejection the message may have arrived nevertheless; send it again with the same message ID. You can call
   * it without awaiting: 1,000 messages may be in flight, and 10,000 more may wait.
   *
   * @throws ConfigError for a message ID, routing key or body that cannot be sent, or an unknown field
   * @throws BrokerError `BROKER_UNREACHABLE`, `BROKER_PUBLISH_REFUSED` (no queue, no confirm within 10 s, a broker that
   * blocks publishers, a missing exchange: this one also refuses the other messages in flight)
   * @throws StoppedError after `close()`
   */
  publish(message: IdentifiedMessage): Promise<void>
  /** Rejects the messages that are not confirmed yet. Idempotent. */
  close(): Promise<void>
}

/** For producers. It opens its connection at the first publish, and again after a loss, or 5 s without a publish. */
export function confirmedPublisher(connect: RabbitConnect): ConfirmedPublisher {
  return new ProducerPublisher(
    new ReopeningPublisher(connectorOf(connect), 'consume-once publisher', CONFIRM_WITHIN_MS, IDLE_MS),
  )
}

export class ProducerPublisher implements ConfirmedPublisher {
  readonly #inner: ReopeningPublisher

  constructor(inner: ReopeningPublisher) {
    setBroker(this, 'rabbitmq')
    this.#inner = inner
  }

  /** The inner publisher, which also takes messages without an ID, if `publisher` came from this library. */
  static innerOf(publisher: ConfirmedPublisher): ReopeningPublisher | undefined {
    return typeof publisher === 'object' && publisher !== null && #inner in publisher ? publisher.#inner : undefined
  }

  async publish(message: IdentifiedMessage): Promise<void> {
    checkMessage(message)
    await this.#inner.publish({ ...message, body: bytesOf(message.body) })
  }

  close(): Promise<void> {
    return this.#inner.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** Also publishes copies of messages that never had an ID. */
export class ReopeningPublisher {
  readonly #connector: Connector
  readonly #title: string
  readonly #confirmWithinMs: DurationMs
  readonly #idle: Idle | undefined
  #confirms: Promise<ConfirmChannel> | undefined
  #closing: Promise<void> | undefined

  /** @param idleMs - after so long without a publish it closes its connection; `undefined`: it keeps it */
  constructor(
    connector: Connector,
    title: string,
    confirmWithinMs: DurationMs = CONFIRM_WITHIN_MS,
    idleMs?: DurationMs,
  ) {
    this.#connector = connector
    this.#title = title
    this.#confirmWithinMs = confirmWithinMs
    this.#idle = idleMs === undefined ? undefined : new Idle(systemClock, idleMs, () => this.#rest())
  }

  async publish(message: OutgoingMessage): Promise<void> {
    const attempt = new AbortController()
    let channel: ConfirmChannel | undefined
    this.#idle?.begin()
    const publishing = async (): Promise<void> => {
      channel = await this.#openChannel()
      await channel.publish(message, attempt.signal)
    }
    try {
      await answerWithin(this.#confirmWithinMs, 'publish', publishing())
    } catch (error) {
      throw error instanceof NoAnswerError ? unanswered(refused(channel?.lateBecause ?? error.message, error)) : error
    } finally {
      // It must not be sent after the caller was told that it was not.
      attempt.abort()
      this.#idle?.end()
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  /** One channel at a time; after its end the next publish opens another one. */
  async #openChannel(): Promise<ConfirmChannel> {
    if (this.#closing !== undefined) throw new StoppedError('the publisher is closed')
    const current = (this.#confirms ??= ConfirmChannel.open(this.#connector, this.#title))
    try {
      const channel = await current
      if (channel.isOpen) return channel
      void channel.close()
    } catch (error) {
      if (this.#confirms === current) this.#confirms = undefined
      throw error
    }
    if (this.#confirms === current) this.#confirms = undefined
    return this.#openChannel()
  }

  #rest(): void {
    const current = this.#confirms
    this.#confirms = undefined
    current?.then((channel) => channel.close()).catch(() => {})
  }

  async #close(): Promise<void> {
    this.#idle?.stop()
    const channel = await this.#confirms?.catch((error: unknown) => {
      if (!(error instanceof BrokerError)) throw error
    })
    await channel?.close()
  }
}
