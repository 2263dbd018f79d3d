import { BrokerError, StoppedError } from '../../src/index.ts'
import { connectorOf, type Connector, type RabbitConnect } from './connector.ts'
import { Outlet, refused, type OutgoingMessage } from './outlet.ts'
import { NoAnswerError, within } from './within.ts'

const CONFIRM_WITHIN_MS = 10_000

/** Publishes what must not get lost. */
export interface ConfirmedPublisher extends AsyncDisposable {
  /**
   * Resolves when the broker has confirmed the message and some queue has it: persistent, mandatory. Rejects otherwise, then
   * the message may be there all the same; send it again, with the same message ID.
   *
   * @throws BrokerError `BROKER_UNREACHABLE`, `BROKER_PUBLISH_REFUSED` (no queue, no confirm within 10 s, a broker that
   * blocks publishers)
   * @throws StoppedError after `close()`
   */
  publish(message: OutgoingMessage): Promise<void>
  /** What is not confirmed by now is rejected. Idempotent. */
  close(): Promise<void>
}

/** Opens its connection when it first publishes, and again after a loss. */
export function confirmedPublisher(connect: RabbitConnect): ConfirmedPublisher {
  return new ReopeningPublisher(connectorOf(connect), 'consume-once publisher')
}

export class ReopeningPublisher implements ConfirmedPublisher {
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
    try {
      await within(this.#confirmWithinMs, 'publish', this.#publish(message))
    } catch (error) {
      throw error instanceof NoAnswerError ? refused(error.message, error) : error
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #publish(message: OutgoingMessage): Promise<void> {
    const outlet = await this.#openOutlet()
    await outlet.publish(message)
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
