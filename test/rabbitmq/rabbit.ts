import { eventually } from '../kit/eventually.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect, type Channel, type ChannelModel, type MessageProperties, type Options } from 'amqplib'
import { uniqueName } from '../kit/namespace.ts'
import { server } from '../kit/servers/server.ts'

/** A broker as seen by its administrator, with queues that end with the test. */
export class Rabbit implements AsyncDisposable {
  readonly url: string
  readonly #connection: ChannelModel
  readonly #queues: string[] = []

  private constructor(url: string, connection: ChannelModel) {
    this.url = url
    this.#connection = connection
    connection.on('error', () => {})
  }

  static async open(url?: string): Promise<Rabbit> {
    const at = url ?? (await server('rabbitmq')).url
    return new Rabbit(at, await connect(at))
  }

  /** Such as `4.3.6`. */
  get version(): string {
    return this.#connection.connection.serverProperties.version
  }

  /** From 4.0 quorum queues have a delivery limit, and -1 disables it. */
  get limitsDeliveries(): boolean {
    return this.isAtLeast(4, 0)
  }

  /** The server's version is this one or later. */
  isAtLeast(major: number, minor: number): boolean {
    const [ownMajor = 0, ownMinor = 0] = this.version.split('.').map(Number)
    return ownMajor > major || (ownMajor === major && ownMinor >= minor)
  }

  /** Names of the queue's delay queues, which are deleted at the end. */
  delayQueues(queue: string, ...delaysMs: readonly number[]): string[] {
    const names = delaysMs.map((delayMs) => `${queue}.retry.${delayMs}`)
    this.#queues.push(...names)
    return names
  }

  /** A name of this test; the queue and its dead-letter queue are deleted at the end. */
  name(): string {
    const queue = uniqueName('amqplib')
    this.#queues.push(queue, `${queue}.dead-letter`)
    return queue
  }

  async declare(queue: string, args: Record<string, unknown> = { 'x-queue-type': 'quorum' }): Promise<void> {
    await this.ask((channel) => channel.assertQueue(queue, { durable: true, arguments: args }))
  }

  /** One message each, with the body's text as message ID unless the options say otherwise. */
  async send(queue: string, texts: readonly string[], options: Options.Publish & SendOptions = {}): Promise<void> {
    const channel = await this.#connection.createConfirmChannel()
    const { isNameless = false, headersOf = () => ({}), ...properties } = options
    for (const text of texts) {
      const id = isNameless ? {} : { messageId: text }
      channel.sendToQueue(queue, Buffer.from(text), {
        persistent: true,
        headers: headersOf(text),
        ...id,
        ...properties,
      })
    }
    await channel.waitForConfirms()
    await channel.close()
  }

  /** Messages that are ready, in no consumer's hands. */
  async ready(queue: string): Promise<number> {
    return (await this.ask((channel) => channel.checkQueue(queue))).messageCount
  }

  async consumers(queue: string): Promise<number> {
    return (await this.ask((channel) => channel.checkQueue(queue))).consumerCount
  }

  /** Nobody consumes it any more, and what they held is back. */
  async untilUnread(queue: string): Promise<void> {
    await eventually(async () => (await this.consumers(queue)) === 0)
  }

  async delete(queue: string): Promise<void> {
    await this.ask((channel) => channel.deleteQueue(queue))
  }

  /** Takes the oldest message, which must come. */
  async take(queue: string): Promise<Taken> {
    return this.ask(async (channel) => {
      for (;;) {
        const message = await channel.get(queue, { noAck: true })
        if (message !== false) {
          return {
            body: message.content.toString(),
            properties: message.properties,
            redelivered: message.fields.redelivered,
          }
        }
        await sleep(10)
      }
    })
  }

  /**
   * What is left in the queue, for sure: what comes back goes to the head, so it comes before a message that is sent now.
   */
  async takeLeft(queue: string): Promise<readonly Taken[]> {
    const last = uniqueName('last')
    await this.send(queue, [last])
    const left: Taken[] = []
    for (;;) {
      const taken = await this.take(queue)
      if (taken.body === last) return left
      left.push(taken)
    }
  }

  async ask<T>(question: (channel: Channel) => Promise<T>): Promise<T> {
    const channel = await this.#connection.createChannel()
    channel.on('error', () => {})
    try {
      return await question(channel)
    } finally {
      await channel.close().catch(() => {})
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const queue of this.#queues) await this.delete(queue).catch(() => {})
    await this.#connection.close().catch(() => {})
  }
}

interface SendOptions {
  /** Without a message ID. */
  readonly isNameless?: boolean
  readonly headersOf?: (text: string) => Record<string, unknown>
}

export interface Taken {
  readonly body: string
  readonly properties: MessageProperties
  readonly redelivered: boolean
}
