import { systemClock, type EpochMs, type Message } from '../../../src/index.ts'
import { ORIGIN_QUEUE, ORIGIN_ROUTING_KEY, TOMBSTONE } from '../copies/headers.ts'
import type { OwnFrame } from '../settling/acks.ts'
import type { AmqpMessage } from '../slice.ts'

/** A message of RabbitMQ, read where it lies: what nobody asks for is not computed. */
export class RabbitMessage implements Message {
  readonly system = 'rabbitmq'
  readonly destination: string
  readonly position: string
  readonly #raw: AmqpMessage
  readonly #arrivedAt: EpochMs = systemClock.now()
  #settleBy: OwnFrame | undefined

  constructor(raw: AmqpMessage, queue: string, generation: number | string) {
    this.#raw = raw
    this.destination = queue
    this.position = `${generation}/${raw.fields.deliveryTag}`
  }

  /** What amqplib delivered, if the message came from here. */
  static rawOf(message: Message): AmqpMessage | undefined {
    return #raw in message ? message.#raw : undefined
  }

  /** When this delivery came, if the message came from here. */
  static arrivalOf(message: Message): EpochMs | undefined {
    return #raw in message ? message.#arrivedAt : undefined
  }

  /** Its delivery is settled by this frame instead of an ack. `false`: the message did not come from here. */
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
    const origin = ownHeader(this.headers, ORIGIN_QUEUE)
    return typeof origin === 'string' && origin !== '' ? origin : this.destination
  }

  /** The routing key it was first published with: that of a copy names a queue. */
  get key(): Uint8Array {
    const first = ownHeader(this.headers, ORIGIN_ROUTING_KEY)
    return Buffer.from(typeof first === 'string' ? first : this.#raw.fields.routingKey)
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
