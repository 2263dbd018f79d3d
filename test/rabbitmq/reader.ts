import { connect, type Channel, type ChannelModel, type ConsumeMessage } from 'amqplib'

/** A consumer that takes one message at a time and gives it back as told, on a connection of its own. */
export class Reader {
  readonly #connection: ChannelModel
  readonly #channel: Channel
  readonly #arrived: ConsumeMessage[] = []
  #onArrival: () => void = () => {}
  #last: ConsumeMessage | undefined
  #isOpen = true

  private constructor(connection: ChannelModel, channel: Channel) {
    this.#connection = connection
    this.#channel = channel
    connection.on('error', () => {})
    channel.on('error', () => {})
  }

  static async open(url: string, queue: string): Promise<Reader> {
    const connection = await connect(url)
    const channel = await connection.createChannel()
    const reader = new Reader(connection, channel)
    await channel.prefetch(1)
    await channel.consume(queue, (message) => {
      if (message !== null) reader.#arrived.push(message)
      reader.#onArrival()
    })
    return reader
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  /** The next delivery, which must come. */
  async next(): Promise<ConsumeMessage> {
    for (;;) {
      this.#last = this.#arrived.shift()
      if (this.#last !== undefined) return this.#last
      await new Promise<void>((resolve) => {
        this.#onArrival = resolve
      })
    }
  }

  nack(): void {
    if (this.#last !== undefined) this.#channel.nack(this.#last, false, true)
  }

  reject(): void {
    if (this.#last !== undefined) this.#channel.reject(this.#last, true)
  }

  async recover(): Promise<void> {
    await this.#channel.recover()
  }

  async closeChannel(): Promise<void> {
    await this.#channel.close()
    await this.close()
  }

  async close(): Promise<void> {
    if (!this.#isOpen) return
    this.#isOpen = false
    await this.#connection.close()
  }

  /** As a process that is killed does it. */
  drop(): void {
    this.#isOpen = false
    const { stream } = this.#connection.connection as unknown as { readonly stream: { destroy(why: Error): void } }
    // Without an error amqplib would not notice, and its heartbeat keep the test process alive.
    stream.destroy(new Error('dropped'))
  }
}

export type Return = 'nack' | 'reject' | 'recover' | 'channel close' | 'connection close' | 'connection drop'

/** How the last message that was taken goes back to its queue. */
export const RETURNS: Readonly<Record<Return, (reader: Reader) => void | Promise<void>>> = {
  nack: (reader) => reader.nack(),
  reject: (reader) => reader.reject(),
  recover: (reader) => reader.recover(),
  'channel close': (reader) => reader.closeChannel(),
  'connection close': (reader) => reader.close(),
  'connection drop': (reader) => reader.drop(),
}
