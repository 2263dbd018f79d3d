import { connect, type Channel, type ChannelModel } from 'amqplib'

type Frame =
  | { readonly kind: 'ack'; readonly tag: number; readonly multiple: boolean }
  | { readonly kind: 'nack' | 'reject'; readonly tag: number; readonly requeue: boolean }
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
  readonly #connectBy: (url: string) => Promise<ChannelModel>
  readonly models: ChannelModel[] = []
  /** Consuming channels and those of set-up, in the order they were opened. */
  readonly channels: TappedChannel[] = []
  /** So many of the next connects fail. */
  failing = 0
  connects = 0

  constructor(url: string, connectBy: (url: string) => Promise<ChannelModel> = (at) => connect(at)) {
    this.#url = url
    this.#connectBy = connectBy
  }

  readonly connect = async (): Promise<ChannelModel> => {
    this.connects++
    if (this.failing > 0) {
      this.failing--
      throw new Error('tapped: no connection')
    }
    const model = await this.#connectBy(this.#url)
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
  const reject = channel.reject.bind(channel)
  channel.reject = (message, requeue = true) => {
    frames.push({ kind: 'reject', tag: message.fields.deliveryTag, requeue })
    reject(message, requeue)
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
