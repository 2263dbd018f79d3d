import { BrokerError, systemEntropy } from '../../src/index.ts'
import { closeQuietly } from './close.ts'
import type { Connector } from './connector.ts'
import { PUBLISH_ID } from './headers.ts'
import { Link, reasonOf } from './link.ts'
import type { AmqpConfirmChannel, AmqpMessage, AmqpPublishOptions, AmqpPublishProperties } from './slice.ts'
import { watch } from './watch.ts'
import { within } from './within.ts'
import { withoutUndefined } from './without-undefined.ts'

const OPEN_CHANNEL_WITHIN_MS = 10_000
const MOST_UNCONFIRMED = 1000

export interface OutgoingMessage {
  /** @defaultValue the default exchange, which routes by queue name */
  readonly exchange?: string
  readonly routingKey: string
  readonly body: Uint8Array
  /** The same each time this message is sent, or nobody can tell that it is the same. */
  readonly messageId: string | undefined
  readonly headers?: Readonly<Record<string, unknown>>
  readonly properties?: AmqpPublishProperties
}

/** One confirm channel on a connection of its own. It ends once, for good. */
export class Outlet {
  readonly #link: Link
  readonly #channel: AmqpConfirmChannel
  /** Returned messages, told before they are confirmed. */
  readonly #returned = new Map<string, string>()
  readonly #prefix = systemEntropy.ownerToken()
  #published = 0
  #unconfirmed = 0
  #endedBecause: string | undefined

  private constructor(link: Link, channel: AmqpConfirmChannel) {
    this.#link = link
    this.#channel = channel
    watch(channel, (why) => (this.#endedBecause ??= why))
    channel.on('return', (message) => this.#noteReturn(message))
  }

  /** @throws BrokerError `BROKER_UNREACHABLE` */
  static async open(connector: Connector, title: string): Promise<Outlet> {
    const link = await Link.open(connector, title).catch((error: unknown) => {
      throw unreachable(connector, error)
    })
    try {
      const opening = link.connection.createConfirmChannel()
      return new Outlet(link, await within(OPEN_CHANNEL_WITHIN_MS, 'open channel', opening))
    } catch (error) {
      await link.close()
      throw unreachable(connector, error)
    }
  }

  get isOpen(): boolean {
    return this.#endedBecause === undefined
  }

  /**
   * Resolves when the broker has taken the message over, on disk, in at least one queue.
   *
   * @throws BrokerError `BROKER_PUBLISH_REFUSED`; its cause, if the message cannot be encoded, is what amqplib threw
   */
  async publish(message: OutgoingMessage): Promise<void> {
    const { blockedBecause } = this.#link
    if (blockedBecause !== undefined) throw refused(`the broker blocks publishers: ${blockedBecause}`)
    if (this.#unconfirmed >= MOST_UNCONFIRMED) throw refused(`${MOST_UNCONFIRMED} messages are not yet confirmed`)
    const id = `${this.#prefix}-${++this.#published}`
    this.#unconfirmed++
    try {
      await this.#confirmed(message, id)
      const returned = this.#returned.get(id)
      if (returned !== undefined) throw new Error(`${returned} (${placeOf(message)})`)
    } catch (cause) {
      throw refused(this.#link.lostBecause ?? this.#endedBecause ?? reasonOf(cause), cause)
    } finally {
      this.#unconfirmed--
      this.#returned.delete(id)
    }
  }

  async close(): Promise<void> {
    this.#endedBecause ??= 'closed'
    await closeQuietly(this.#channel)
    await this.#link.close()
  }

  #confirmed(message: OutgoingMessage, id: string): Promise<void> {
    const { exchange = '', routingKey, body, messageId, properties } = message
    const headers = { ...message.headers, [PUBLISH_ID]: id }
    const options = withoutUndefined<AmqpPublishOptions>({
      ...properties,
      messageId,
      headers,
      mandatory: true,
      persistent: true,
    })
    const content = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
    return new Promise((resolve, reject) => {
      this.#channel.publish(exchange, routingKey, content, options, (error) =>
        error === null || error === undefined ? resolve() : reject(error),
      )
    })
  }

  #noteReturn({ properties, fields }: AmqpMessage): void {
    const id = properties.headers?.[PUBLISH_ID]
    if (typeof id !== 'string' || !id.startsWith(this.#prefix)) return
    const { replyText } = fields as { readonly replyText?: unknown }
    this.#returned.set(id, typeof replyText === 'string' ? replyText : 'returned')
  }
}

function placeOf({ exchange = '', routingKey }: OutgoingMessage): string {
  return exchange === '' ? `queue ${routingKey}` : `exchange ${exchange}, key ${routingKey}`
}

export function refused(why: string, cause?: unknown): BrokerError {
  return new BrokerError('BROKER_PUBLISH_REFUSED', `RabbitMQ did not confirm the message: ${why}`, { cause })
}

function unreachable({ where }: Connector, cause: unknown): BrokerError {
  return new BrokerError('BROKER_UNREACHABLE', `RabbitMQ at ${where} cannot be published to: ${reasonOf(cause)}`, {
    cause,
  })
}
