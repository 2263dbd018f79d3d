import { BrokerError, COPY_HEADER, systemEntropy, unanswered, withoutUndefined } from '../../../src/internal.ts'
import { closeQuietly } from '../connection/close.ts'
import type { Connector } from '../connection/connector.ts'
import { openChannel } from '../connection/open-channel.ts'
import { reasonOf } from '../connection/advice.ts'
import { Link } from '../connection/link.ts'
import type { AmqpConfirmChannel, AmqpMessage, AmqpPublishOptions, AmqpPublishProperties } from '../amqplib-like.ts'
import { watch } from '../connection/watch.ts'
import { MOST_UNCONFIRMED, Semaphore } from './semaphore.ts'

const OPEN_CHANNEL_WITHIN_MS = 10_000

export interface OutgoingMessage {
  /** @defaultValue the default exchange, which routes by queue name */
  readonly exchange?: string
  readonly routingKey: string
  readonly body: Uint8Array
  /** Must be the same each time this message is sent, so that consumers can recognise it. */
  readonly messageId: string | undefined
  readonly headers?: Readonly<Record<string, unknown>>
  readonly properties?: AmqpPublishProperties
}

/** One confirm channel on a connection of its own. It ends once, for good. */
export class ConfirmChannel {
  readonly #link: Link
  readonly #channel: AmqpConfirmChannel
  /** Returned messages. The broker returns a message before it confirms it. */
  readonly #returned = new Map<string, string>()
  readonly #prefix = systemEntropy.ownerToken()
  readonly #semaphore = new Semaphore()
  #published = 0
  #endedBecause: string | undefined
  #closing: Promise<void> | undefined

  private constructor(link: Link, channel: AmqpConfirmChannel) {
    this.#link = link
    this.#channel = channel
    watch(channel, (why) => this.#end(why))
    channel.on('return', (message) => this.#noteReturn(message))
  }

  /**
   * @throws BrokerError `BROKER_UNREACHABLE`; ConfigError if address, user or certificate must change, a factory resolves
   * with something else than a connection, or amqplib is missing
   */
  static async open(connector: Connector, title: string): Promise<ConfirmChannel> {
    const link = await Link.open(connector, title)
    try {
      const opening = link.connection.createConfirmChannel()
      return new ConfirmChannel(link, await openChannel(opening, OPEN_CHANNEL_WITHIN_MS))
    } catch (error) {
      await link.close()
      throw unreachable(connector, error)
    }
  }

  get isOpen(): boolean {
    return this.#endedBecause === undefined
  }

  /** Why a message is not confirmed yet, if known. */
  get lateBecause(): string | undefined {
    const { blockedBecause } = this.#link
    if (blockedBecause !== undefined) return `the broker blocks publishers: ${blockedBecause}`
    return this.#semaphore.isFull ? `${MOST_UNCONFIRMED} messages are not confirmed in time` : undefined
  }

  /**
   * Resolves when the broker has the message, on disk, in at least one queue. Waits for a slot while too many messages
   * are unconfirmed; if `givenUp` aborts meanwhile, the message is not published at all.
   *
   * @throws BrokerError `BROKER_PUBLISH_REFUSED`; if the message cannot be encoded, its cause is the error of amqplib
   */
  async publish(message: OutgoingMessage, givenUp: AbortSignal): Promise<void> {
    const id = `${this.#prefix}-${++this.#published}`
    if (!(await this.#semaphore.enter(givenUp)))
      throw unanswered(refused(`more messages wait for their turn than there is room for`))
    try {
      if (givenUp.aborted) throw new Error('given up')
      if (this.#endedBecause !== undefined) throw new Error(this.#endedBecause)
      const { blockedBecause } = this.#link
      if (blockedBecause !== undefined) throw new Error(`the broker blocks publishers: ${blockedBecause}`)
      await this.#confirmed(message, id)
      const returned = this.#returned.get(id)
      if (returned !== undefined) throw new Error(`${returned} (${placeOf(message)})`) // mutant: rabbit-return-unread
    } catch (cause) {
      const { lostBecause, blockedBecause } = this.#link
      const error = refused(lostBecause ?? this.#endedBecause ?? reasonOf(cause), cause)
      // A channel that is closed alone is closed because of what was sent on it.
      throw lostBecause === undefined && blockedBecause === undefined ? error : unanswered(error)
    } finally {
      this.#semaphore.leave()
      this.#returned.delete(id)
    }
  }

  /** Idempotent: every caller that finds it ended may close it. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#end('closed')
    await closeQuietly(this.#channel)
    await this.#link.close()
  }

  /** Wakes the callers that wait for a slot. */
  #end(why: string): void {
    this.#endedBecause ??= why
    this.#semaphore.open()
  }

  #confirmed(message: OutgoingMessage, id: string): Promise<void> {
    const { exchange = '', routingKey, body, messageId, properties } = message
    const headers = { ...message.headers, [COPY_HEADER.publishId]: id }
    const options = withoutUndefined<AmqpPublishOptions>({
      ...properties,
      messageId,
      headers,
      mandatory: true,
      persistent: true, // mutant: rabbit-copy-in-memory
    })
    const content = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
    return new Promise((resolve, reject) => {
      // mutant: rabbit-publish-unconfirmed
      this.#channel.publish(exchange, routingKey, content, options, (error) =>
        error === null || error === undefined ? resolve() : reject(error),
      )
    })
  }

  #noteReturn({ properties, fields }: AmqpMessage): void {
    const id = properties.headers?.[COPY_HEADER.publishId]
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
