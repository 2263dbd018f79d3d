import { Watching } from '../kit/recording-intake.ts'
import { connect, type Channel, type ChannelModel } from 'amqplib'
import { onMessage, type OnMessage, type OnMessageOptions } from '../../adapters/amqplib/index.ts'
import {
  TerminalError,
  defineConsumer,
  messageId,
  type Consumer,
  type ConsumerSettings,
  type HandlerContext,
} from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { startFaultProxy, type FaultProxy } from '../kit/fault-proxy.ts'
import { Rabbit } from './rabbit.ts'

export type Handle = (context: HandlerContext<string>) => unknown

interface Given extends OnMessageOptions {
  readonly settings?: Partial<ConsumerSettings<string, string, never>>
  readonly url?: string
  readonly prefetch?: number
  readonly channel?: Channel
}

interface Consuming {
  readonly channel: Channel
  /** What was sent on it to settle. */
  readonly frames: string[]
  readonly made: OnMessage
  readonly watching: Watching
  readonly consumerTag: string
}

/** Channels of the user's own, consuming by drop-in functions. */
export class OwnChannels implements AsyncDisposable {
  readonly rabbit: Rabbit
  readonly proxy: FaultProxy
  readonly #models: ChannelModel[] = []
  readonly #functions: OnMessage[] = []

  private constructor(rabbit: Rabbit, proxy: FaultProxy) {
    this.rabbit = rabbit
    this.proxy = proxy
  }

  static async open(): Promise<OwnChannels> {
    const rabbit = await Rabbit.open()
    return new OwnChannels(rabbit, await startFaultProxy(Number(new URL(rabbit.url).port || 5672)))
  }

  get viaProxy(): string {
    const url = new URL(this.rabbit.url)
    url.port = String(this.proxy.port)
    return url.href
  }

  async queue(args?: Record<string, unknown>): Promise<string> {
    const queue = this.rabbit.name()
    await this.rabbit.declare(queue, args)
    return queue
  }

  async connect(url: string = this.rabbit.url): Promise<ChannelModel> {
    const model = await connect(url)
    model.on('error', () => {})
    this.#models.push(model)
    return model
  }

  async channel(prefetch: number, url?: string): Promise<Channel> {
    const channel = await (await this.connect(url)).createChannel()
    channel.on('error', () => {})
    await channel.prefetch(prefetch)
    return channel
  }

  async consume(queue: string, handle: Handle, given: Given = {}): Promise<Consuming> {
    const { settings, url, prefetch = 100, channel = await this.channel(prefetch, url), ...options } = given
    const watching = new Watching()
    const made = onMessage(channel, consumerOf(watching, handle, settings), options)
    this.#functions.push(made)
    const frames = tapped(channel)
    const { consumerTag } = await channel.consume(queue, made, { noAck: false })
    return { channel, frames, made, watching, consumerTag }
  }

  /** After each test. */
  async end(): Promise<void> {
    await Promise.all(this.#functions.splice(0).map((made) => made.stop({ deadlineMs: 1 })))
    await Promise.all(this.#models.splice(0).map((model) => model.close().catch(() => {})))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.proxy.stop()
    await this.rabbit[Symbol.asyncDispose]()
  }
}

export function consumerOf(watching: Watching, handle: Handle, settings: Given['settings'] = {}): Consumer {
  return defineConsumer<string>({
    name: 'test',
    id: messageId.property(),
    decode: (value) => Buffer.from(value ?? []).toString(),
    store: memoryStore(),
    backoff: { initialMs: 5, maxMs: 20 },
    graceMs: 100,
    observe: watching.observe,
    handle,
    ...settings,
  })
}

/** What a handler says of a message that nobody should try again. */
export function refuse(): never {
  throw new TerminalError('never')
}

/** Arguments of a quorum queue that dead-letters rejected messages to another queue. */
export function withDeadLetters(queue: string): Record<string, unknown> {
  return { 'x-queue-type': 'quorum', 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': queue }
}

function tapped(channel: Channel): string[] {
  const frames: string[] = []
  for (const name of ['ack', 'nack', 'reject'] as const) {
    const send = channel[name].bind(channel) as (...args: unknown[]) => void
    channel[name] = (...args: [{ fields: { deliveryTag: number } }, ...unknown[]]) => {
      send(...args)
      frames.push([name, args[0].fields.deliveryTag, ...args.slice(1)].join(' '))
    }
  }
  return frames
}
