import { connect, type ChannelModel, type ConfirmChannel, type Options } from 'amqplib'
import { Raw } from '../entry.ts'

/** Bytes that replace bytes of the same length that amqplib wrote. */
interface Patch {
  readonly written: Buffer
  readonly meant: Uint8Array
}

/** Publishes, confirmed, what amqplib reads but would not write: it writes something of the same length, which is replaced. */
export class WirePublisher implements AsyncDisposable {
  readonly #connection: ChannelModel
  readonly #channel: ConfirmChannel
  #patches: Patch[] = []
  #count = 0

  private constructor(connection: ChannelModel, channel: ConfirmChannel) {
    this.#connection = connection
    this.#channel = channel
    const { buffer } = channelsOf(connection)[channelNumberOf(channel)] as { buffer: { write(bytes: Buffer): boolean } }
    const write = buffer.write.bind(buffer)
    buffer.write = (bytes) => write(this.#patched(bytes))
  }

  static async open(url: string): Promise<WirePublisher> {
    const connection = await connect(url)
    return new WirePublisher(connection, await connection.createConfirmChannel())
  }

  publish(
    queue: string,
    body: Buffer,
    headers: Readonly<Record<string, unknown>> | undefined,
    properties: Options.Publish,
  ): void {
    const written = Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name, this.#field(value)]))
    const others = Object.entries(properties).map(([name, value]) => [name, this.#property(name, value)] as const)
    this.#channel.sendToQueue(queue, body, {
      persistent: true,
      ...(headers === undefined ? {} : { headers: written }),
      ...Object.fromEntries(others),
    })
    if (this.#patches.length > 0) throw new Error('what was to be replaced was not written (WirePublisher)')
  }

  confirmed(): Promise<void> {
    return this.#channel.waitForConfirms()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connection.close()
  }

  #field(value: unknown): unknown {
    if (!(value instanceof Raw)) return value
    const text = this.#text(value.bytes.length - 5)
    const head = Buffer.alloc(5, 'S')
    head.writeUInt32BE(text.length, 1)
    this.#patches.push({ written: Buffer.concat([head, Buffer.from(text)]), meant: value.bytes })
    return text
  }

  #property(name: string, value: unknown): unknown {
    if (!(value instanceof Raw)) return value
    if (name === 'timestamp') {
      const number = 2 ** 52 + this.#count++
      const written = Buffer.alloc(8)
      written.writeBigUInt64BE(BigInt(number))
      this.#patches.push({ written, meant: value.bytes })
      return number
    }
    const text = this.#text(value.bytes.length)
    this.#patches.push({ written: Buffer.from(text), meant: value.bytes })
    return text
  }

  #text(length: number): string {
    return String(this.#count++).padStart(length, '\u0002')
  }

  #patched(bytes: Buffer): Buffer {
    this.#patches = this.#patches.filter(({ written, meant }) => {
      const at = bytes.indexOf(written)
      if (at === -1 || written.length !== meant.length) return true
      bytes.set(meant, at)
      return false
    })
    return bytes
  }
}

/** Neither is public. */
function channelsOf(connection: ChannelModel): readonly unknown[] {
  return (connection.connection as unknown as { readonly channels: readonly unknown[] }).channels
}

function channelNumberOf(channel: ConfirmChannel): number {
  return (channel as unknown as { readonly ch: number }).ch
}
