import type { EpochMs, Message } from '../../src/index.ts'
import { ORIGIN_QUEUE, TOMBSTONE } from './headers.ts'
import type { AmqpMessage } from './slice.ts'

/** A message of RabbitMQ, read where it lies: what nobody asks for is not computed. */
export class RabbitMessage implements Message {
  readonly system = 'rabbitmq'
  readonly destination: string
  readonly position: string
  readonly #raw: AmqpMessage

  constructor(raw: AmqpMessage, queue: string, generation: number) {
    this.#raw = raw
    this.destination = queue
    this.position = `${generation}/${raw.fields.deliveryTag}`
  }

  /** What amqplib delivered, if the message came from here. */
  static rawOf(message: Message): AmqpMessage | undefined {
    return #raw in message ? message.#raw : undefined
  }

  get origin(): string {
    const origin = ownHeader(this.headers, ORIGIN_QUEUE)
    return typeof origin === 'string' && origin !== '' ? origin : this.destination
  }

  get key(): Uint8Array {
    return Buffer.from(this.#raw.fields.routingKey)
  }

  /** AMQP knows no tombstone: an empty body is an empty value, unless a header says otherwise. */
  get value(): Uint8Array | null {
    return ownHeader(this.headers, TOMBSTONE) === true ? null : this.#raw.content
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
