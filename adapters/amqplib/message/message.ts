import { COPY_HEADER, systemClock, type EpochMs, type Message } from '../../../src/internal.ts'
import { carriedName } from './headers.ts'
import type { OwnFrame } from '../settling/acks.ts'
import type { AmqpMessage } from '../amqplib-like.ts'

/** Where a message was first published. */
export interface FirstPublication {
  readonly queue?: string | undefined
  readonly exchange?: string | undefined
  readonly routingKey?: string | undefined
}

/** A RabbitMQ message. Fields are computed only when they are read. */
export class RabbitMessage implements Message {
  readonly system = 'rabbitmq'
  readonly destination: string
  readonly position: string
  readonly #raw: AmqpMessage
  readonly #first: FirstPublication
  readonly #arrivedAt: EpochMs = systemClock.now()
  #settleBy: OwnFrame | undefined

  /** `first`: what others know about a message that has no header of an earlier copy. */
  constructor(raw: AmqpMessage, queue: string, generation: number | string, first: FirstPublication = {}) {
    this.#raw = raw
    this.#first = first
    this.destination = queue
    this.position = `${generation}/${raw.fields.deliveryTag}`
  }

  /** The message of amqplib, if the message came from this source. */
  static rawOf(message: Message): AmqpMessage | undefined {
    return #raw in message ? message.#raw : undefined
  }

  /** When this delivery arrived, if the message came from this source. */
  static arrivalOf(message: Message): EpochMs | undefined {
    return #raw in message ? message.#arrivedAt : undefined
  }

  /** Settles its delivery with this frame instead of an ack. `false`: the message did not come from this source. */
  static settleBy(message: Message, frame: OwnFrame): boolean {
    if (!(#raw in message)) return false
    message.#settleBy = frame
    return true
  }

  /** `undefined`: an ack. */
  get ownFrame(): OwnFrame | undefined {
    return this.#settleBy
  }

  get origin(): string {
    const origin = carriedName(this.headers, COPY_HEADER.originQueue)
    return origin === undefined || origin === '' ? (this.#first.queue ?? this.destination) : origin
  }

  /** The routing key with which it was first published. The routing key of a copy is the name of a queue. */
  get key(): Uint8Array {
    const { routingKey = this.#raw.fields.routingKey } = this.#first
    return Buffer.from(carriedName(this.headers, COPY_HEADER.originRoutingKey) ?? routingKey)
  }

  /**
   * AMQP has no tombstone: an empty body is an empty value, unless a header says otherwise. The header is ignored on a
   * body that is not empty, because two such messages with one ID would count as equal.
   */
  get value(): Uint8Array | null {
    const { content } = this.#raw
    return content.length === 0 && ownHeader(this.headers, COPY_HEADER.tombstone) === true ? null : content
  }

  get headers(): Readonly<Record<string, unknown>> {
    return this.#raw.properties.headers ?? NO_HEADERS
  }

  get messageId(): string | undefined {
    const { messageId } = this.#raw.properties
    return typeof messageId === 'string' ? messageId : undefined
  }

  get timestamp(): EpochMs | undefined {
    const { timestamp } = this.#raw.properties
    return typeof timestamp === 'number' ? timestamp * 1000 : undefined
  }

  get redelivered(): boolean {
    return this.#raw.fields.redelivered
  }
}

const NO_HEADERS: Readonly<Record<string, unknown>> = Object.freeze({})

function ownHeader(headers: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(headers, name) ? headers[name] : undefined
}
