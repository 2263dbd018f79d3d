import { setTimeout as sleep } from 'node:timers/promises'
import { connect, type Channel, type ChannelModel, type MessageProperties, type Options } from 'amqplib'
import { server } from '../support/servers/server.ts'
import { uniqueName } from '../support/namespace.ts'
import type { Delivery, Intake, ObserverEvent, SourceEvent } from '../../src/index.ts'

/** Waits on what is told, never on time. */
export class Signal {
  readonly #looks = new Set<() => void>()

  notify(): void {
    for (const look of this.#looks) look()
  }

  until(isSo: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!isSo()) return
        this.#looks.delete(look)
        resolve()
      }
      this.#looks.add(look)
      look()
    })
  }
}

/** Stays shut until the test opens it. */
export class Gate {
  readonly opened: Promise<void>
  #open: (() => void) | undefined

  constructor() {
    this.opened = new Promise((resolve) => {
      this.#open = resolve
    })
  }

  open(): void {
    this.#open?.()
  }
}

/** A pipeline that only writes down what it gets. */
export class RecordingIntake extends Signal implements Intake {
  readonly batches: (readonly Delivery[])[] = []
  readonly events: SourceEvent[] = []
  onDeliver: (deliveries: readonly Delivery[]) => void = () => {}
  standingChanges = 0

  get deliveries(): readonly Delivery[] {
    return this.batches.flat()
  }

  get settled(): number {
    return this.events.reduce((sum, event) => sum + (event.type === 'settles' ? event.count : 0), 0)
  }

  deliver(deliveries: readonly Delivery[]): void {
    this.batches.push(deliveries)
    this.onDeliver(deliveries)
    this.notify()
  }

  standingChanged(): void {
    this.standingChanges++
    this.notify()
  }

  report(event: SourceEvent): void {
    this.events.push(event)
    this.notify()
  }

  /** How often the source told this event. */
  told(name: string): number {
    return this.events.filter((event) => event.type === 'source' && event.event === name).length
  }

  untilDelivered(count: number): Promise<void> {
    return this.until(() => this.deliveries.length >= count)
  }

  untilTold(name: string, times = 1): Promise<void> {
    return this.until(() => this.told(name) >= times)
  }
}

/** An observer of a consumer, to wait on. */
export class Watching extends Signal {
  readonly events: ObserverEvent[] = []
  readonly observe = (event: ObserverEvent): void => {
    this.events.push(event)
    this.notify()
  }

  outcomes(): Record<string, number> {
    const counts: Record<string, number> = {}
    for (const event of this.events) {
      if (event.type === 'delivery') counts[event.outcome] = (counts[event.outcome] ?? 0) + 1
    }
    return counts
  }

  told(name: string): number {
    return this.events.filter((event) => event.type === name || (event.type === 'source' && event.event === name))
      .length
  }

  untilTold(name: string, times = 1): Promise<void> {
    return this.until(() => this.told(name) >= times)
  }

  untilOutcomes(outcome: string, times: number): Promise<void> {
    return this.until(() => (this.outcomes()[outcome] ?? 0) >= times)
  }
}

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

  /** From 4.0 quorum queues have a delivery limit, and -1 disables it. */
  get limitsDeliveries(): boolean {
    return Number.parseInt(this.#connection.connection.serverProperties.version, 10) >= 4
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
  async send(queue: string, texts: readonly string[], options: Options.Publish & Nameless = {}): Promise<void> {
    const channel = await this.#connection.createConfirmChannel()
    const { isNameless = false, ...properties } = options
    for (const text of texts) {
      const id = isNameless ? {} : { messageId: text }
      channel.sendToQueue(queue, Buffer.from(text), { persistent: true, ...id, ...properties })
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

interface Nameless {
  /** Without a message ID. */
  readonly isNameless?: boolean
}

export interface Taken {
  readonly body: string
  readonly properties: MessageProperties
  readonly redelivered: boolean
}

export type Frame =
  | { readonly kind: 'ack'; readonly tag: number; readonly multiple: boolean }
  | { readonly kind: 'nack'; readonly tag: number; readonly requeue: boolean }
  | { readonly kind: 'cancel' }

/** A channel with what was sent on it. */
export interface TappedChannel {
  readonly channel: Channel
  readonly frames: Frame[]
  delivered: number
}

/** A factory of connections that shows their channels, and fails on demand. */
export class Tap {
  readonly #url: string
  readonly models: ChannelModel[] = []
  /** Consuming channels and those of set-up, in the order they were opened. */
  readonly channels: TappedChannel[] = []
  /** So many of the next connects fail. */
  failing = 0
  connects = 0

  constructor(url: string) {
    this.#url = url
  }

  readonly connect = async (): Promise<ChannelModel> => {
    this.connects++
    if (this.failing > 0) {
      this.failing--
      throw new Error('tapped: no connection')
    }
    const model = await connect(this.#url)
    this.models.push(model)
    const createChannel = model.createChannel.bind(model)
    model.createChannel = async () => {
      const channel = await createChannel()
      this.channels.push(tap(channel))
      return channel
    }
    return model
  }

  /** Channels on which something was consumed. */
  get consuming(): readonly TappedChannel[] {
    return this.channels.filter(({ channel }) => consumed.has(channel))
  }
}

const consumed = new WeakSet<Channel>()

function tap(channel: Channel): TappedChannel {
  const frames: Frame[] = []
  const tapped: TappedChannel = { channel, frames, delivered: 0 }
  const ack = channel.ack.bind(channel)
  channel.ack = (message, multiple = false) => {
    frames.push({ kind: 'ack', tag: message.fields.deliveryTag, multiple })
    ack(message, multiple)
  }
  const nack = channel.nack.bind(channel)
  channel.nack = (message, allUpTo, requeue = true) => {
    frames.push({ kind: 'nack', tag: message.fields.deliveryTag, requeue })
    nack(message, allUpTo, requeue)
  }
  const cancel = channel.cancel.bind(channel)
  channel.cancel = (tag) => {
    frames.push({ kind: 'cancel' })
    return cancel(tag)
  }
  const consume = channel.consume.bind(channel)
  channel.consume = (queue, onMessage, options) => {
    consumed.add(channel)
    const count: typeof onMessage = (message) => {
      if (message !== null) tapped.delivered++
      onMessage(message)
    }
    return consume(queue, count, options)
  }
  return tapped
}

export function bodies(count: number, prefix = 'm'): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index}`)
}

export function textOf(delivery: Delivery): string {
  return Buffer.from(delivery.message.value ?? []).toString()
}

/** Asks until it is so: for what only the broker knows. */
export async function eventually(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(20)
}
