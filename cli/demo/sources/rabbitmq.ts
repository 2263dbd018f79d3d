import type { ChannelModel, ConfirmChannel, GetMessage } from 'amqplib'
import type { Consumer, Running } from '../../../src/index.ts'
import { COPY_HEADER } from '../../../src/spi.ts'
import { runRabbit } from '../../../adapters/amqplib/index.ts'
import { CommandError, EXIT } from '../../exit.ts'
import { installed } from '../installed.ts'
import { headerRecord, ID_HEADER, sha256, type InputMessage } from '../envelope.ts'
import { serverUrl, withoutPassword } from '../server-url.ts'
import type { DemoState } from '../state.ts'
import { PUBLISH_HEADER, type DeadLetterRow, type DemoSource, type Outgoing } from './demo-source.ts'
import { until } from './until.ts'

/** Publishes that wait for a confirm at once. */
const CHUNK = 1_000

/** A header table has at most 64 KiB, and the headers of a dead letter must fit too. */
const MAX_HEADER_BYTES = 48_000
/** The limit since RabbitMQ 4.0. */
const MAX_BODY_BYTES = 16 * 1024 * 1024

/** AMQP has no null payload. The adapter recognises an empty one with this header as a tombstone. */
const TOMBSTONE = [COPY_HEADER.tombstone, 'true'] as const

export async function rabbitDemoSource(state: DemoState): Promise<DemoSource> {
  const url = serverUrl('RABBITMQ_URL', 'amqp://guest:guest@127.0.0.1:5672')
  const amqp = await installed('amqplib', import('amqplib'))
  try {
    const connection = await amqp.connect(url, { timeout: 5_000 })
    connection.on('error', () => {})
    return new RabbitDemoSource(url, connection, state.namespace)
  } catch (cause) {
    throw new CommandError(
      EXIT.unreachable,
      `no usable RabbitMQ answers at ${withoutPassword(url)} (${String(cause)}). Start one, or set RABBITMQ_URL. Nothing was produced.`,
      { cause },
    )
  }
}

class RabbitDemoSource implements DemoSource {
  readonly place: string
  readonly #url: string
  readonly #connection: ChannelModel
  readonly #queue: string

  constructor(url: string, connection: ChannelModel, queue: string) {
    this.#url = url
    this.#connection = connection
    this.#queue = queue
    this.place = `RabbitMQ queue ${queue}, dead letters in ${queue}.dead-letter`
  }

  refusal({ value, headerBytes }: InputMessage): string | undefined {
    if (headerBytes > MAX_HEADER_BYTES)
      return `headers of ${headerBytes} bytes; RabbitMQ takes about ${MAX_HEADER_BYTES}`
    const bytes = value?.length ?? 0
    return bytes > MAX_BODY_BYTES ? `a payload of ${bytes} bytes; RabbitMQ takes ${MAX_BODY_BYTES}` : undefined
  }

  async produce(messages: readonly Outgoing[]): Promise<void> {
    const channel = await this.#connection.createConfirmChannel()
    let returned = 0
    channel.on('return', () => returned++)
    channel.on('error', () => {})
    for (let at = 0; at < messages.length; at += CHUNK) {
      for (const message of messages.slice(at, at + CHUNK)) this.#publish(channel, message)
      await channel.waitForConfirms()
    }
    await channel.close()
    if (returned > 0) {
      throw new CommandError(
        EXIT.unreachable,
        `RabbitMQ returned ${returned} messages: the queue ${this.#queue} is gone; run the demo again`,
      )
    }
  }

  #publish(channel: ConfirmChannel, { key, value, headers, timestamp, publishId }: Outgoing): void {
    const own = value === null ? [TOMBSTONE] : []
    channel.sendToQueue(this.#queue, value ?? Buffer.alloc(0), {
      persistent: true,
      mandatory: true,
      headers: {
        ...headerRecord([...headers, ...own, [PUBLISH_HEADER, publishId]]),
        ...(key === null ? {} : { 'demo-key': key.toString('base64') }),
      },
      ...(timestamp === undefined ? {} : { timestamp: Math.floor(timestamp / 1000) }),
    })
  }

  run(consumer: Consumer): Promise<Running> {
    return runRabbit(this.#url, consumer, { queue: this.#queue })
  }

  drained(isIdle: () => boolean): Promise<void> {
    // The count of ready messages does not include unacked ones; `isIdle` covers those.
    let empty = 0
    return until(async () => {
      const ready = await this.#count(this.#queue)
      empty = ready === 0 && isIdle() ? empty + 1 : 0
      return empty >= 3
    })
  }

  /** Reads every message of the dead-letter queue and leaves it there. */
  async deadLetters(): Promise<readonly DeadLetterRow[]> {
    const queue = `${this.#queue}.dead-letter`
    const channel = await this.#connection.createChannel()
    channel.on('error', () => {})
    const rows: DeadLetterRow[] = []
    for (;;) {
      const message = await channel.get(queue, { noAck: false })
      if (message === false) break
      rows.push(rowOf(message))
    }
    await channel.close()
    return rows
  }

  async close(): Promise<void> {
    await this.#connection.close().catch(() => {})
  }

  async #count(queue: string): Promise<number> {
    const channel = await this.#connection.createChannel()
    channel.on('error', () => {})
    try {
      return (await channel.checkQueue(queue)).messageCount
    } finally {
      await channel.close().catch(() => {})
    }
  }
}

function rowOf({ properties, content }: GetMessage): DeadLetterRow {
  const headers = properties.headers ?? {}
  const reason = String(headers[COPY_HEADER.reason] ?? 'unknown')
  const id: unknown = headers[ID_HEADER]
  return {
    id: reason === 'no-id' ? null : textOf(Array.isArray(id) ? id[0] : id),
    reason,
    payload_sha256: sha256(content),
  }
}

function textOf(header: unknown): string {
  return header instanceof Uint8Array ? Buffer.from(header).toString('utf8') : typeof header === 'string' ? header : ''
}
