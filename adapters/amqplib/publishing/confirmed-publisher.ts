import { BrokerError, StoppedError } from '../../../src/index.ts'
import { connectorOf, type Connector, type RabbitConnect } from '../connection/connector.ts'
import { bytesOf, checkMessage } from './check-message.ts'
import { Outlet, refused, type OutgoingMessage } from './outlet.ts'
import { NoAnswerError, within } from '../connection/within.ts'

const CONFIRM_WITHIN_MS = 10_000

/** A message that can be told from others, however often it is sent. */
export interface IdentifiedMessage extends Pick<OutgoingMessage, 'exchange' | 'routingKey' | 'headers' | 'properties'> {
  /** 1 to 255 bytes of valid Unicode. The same each time this message is sent, or nobody can tell that it is the same. */
  readonly messageId: string
  /** Text goes as UTF-8. */
  readonly body: Uint8Array | string
}

/** Publishes what must not get lost. */
export interface ConfirmedPublisher extends AsyncDisposable {
  /**
   * Resolves when the broker has confirmed the message and some queue has it: persistent, mandatory. Rejects otherwise, then
   * the message may be there all the same; send it again, with the same message ID. Call it as often as you like without
   * awaiting: 1,000 messages are on their way at once, 10,000 more wait for their turn.
   *
   * @throws TypeError a message ID, place or body that cannot be sent, or a name that is none of `IdentifiedMessage`
   * @throws BrokerError `BROKER_UNREACHABLE`, `BROKER_PUBLISH_REFUSED` (no queue, no confirm within 10 s, a broker that
   * blocks publishers, an exchange that is missing: this one also refuses what is on its way beside it)
   * @throws StoppedError after `close()`
   */
  publish(message: IdentifiedMessage): Promise<void>
  /** What is not confirmed by now is rejected. Idempotent. */
  close(): Promise<void>
}

/** For producers. Opens its connection when it first publishes, and again after a loss. */
export function confirmedPublisher(connect: RabbitConnect): ConfirmedPublisher {
  return new ProducerPublisher(new ReopeningPublisher(connectorOf(connect), 'consume-once publisher'))
}

export class ProducerPublisher implements ConfirmedPublisher {
  readonly #inner: ReopeningPublisher

  constructor(inner: ReopeningPublisher) {
    this.#inner = inner
  }

  /** What also takes messages without an ID, if `publisher` came from here. */
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

/** Also for copies of messages that never had an ID. */
export class ReopeningPublisher {
  readonly #connector: Connector
  readonly #title: string
  readonly #confirmWithinMs: number
  #outlet: Promise<Outlet> | undefined
  #closing: Promise<void> | undefined

  constructor(connector: Connector, title: string, confirmWithinMs: number = CONFIRM_WITHIN_MS) {
    this.#connector = connector
    this.#title = title
    this.#confirmWithinMs = confirmWithinMs
  }

  async publish(message: OutgoingMessage): Promise<void> {
    const attempt = new AbortController()
    let outlet: Outlet | undefined
    const publishing = async (): Promise<void> => {
      outlet = await this.#openOutlet()
      await outlet.publish(message, attempt.signal)
    }
    try {
      await within(this.#confirmWithinMs, 'publish', publishing())
    } catch (error) {
      throw error instanceof NoAnswerError ? refused(outlet?.lateBecause ?? error.message, error) : error
    } finally {
      // It must not go out after its sender was told that it did not.
      attempt.abort()
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  /** One at a time; the next one to publish after its end opens another. */
  async #openOutlet(): Promise<Outlet> {
    if (this.#closing !== undefined) throw new StoppedError('the publisher is closed')
    const current = (this.#outlet ??= Outlet.open(this.#connector, this.#title))
    try {
      const outlet = await current
      if (outlet.isOpen) return outlet
      void outlet.close()
    } catch (error) {
      if (this.#outlet === current) this.#outlet = undefined
      throw error
    }
    if (this.#outlet === current) this.#outlet = undefined
    return this.#openOutlet()
  }

  async #close(): Promise<void> {
    const outlet = await this.#outlet?.catch((error: unknown) => {
      if (!(error instanceof BrokerError)) throw error
    })
    await outlet?.close()
  }
}
