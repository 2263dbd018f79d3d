import { connect, type Channel, type ChannelModel } from 'amqplib'
import type { RabbitConnect } from 'consume-once/amqplib'
import { isPlantedIn } from '../planted.ts'

/** How a worker connects; with `early-ack` or `stale-tag` it settles what it must not, now and then. */
export function withPlantedAcks(url: string, planted: string | undefined): RabbitConnect {
  if (planted !== 'early-ack' && planted !== 'stale-tag') return url
  const stale = new Set<number>()
  return async () => {
    const model = await connect(url)
    return withChannels(model, (channel) => (planted === 'early-ack' ? acksEarly(channel) : acksStale(channel, stale)))
  }
}

function withChannels(model: ChannelModel, plant: (channel: Channel) => void): ChannelModel {
  const createChannel = model.createChannel.bind(model)
  model.createChannel = async () => {
    const channel = await createChannel()
    plant(channel)
    return channel
  }
  return model
}

/** Acks some messages as they come, and not again later, so that the broker has nothing against it. */
function acksEarly(channel: Channel): void {
  const open = new Set<number>()
  const [ack, consume] = [channel.ack.bind(channel), channel.consume.bind(channel)]
  channel.ack = (message, allUpTo = false) => {
    const tag = message.fields.deliveryTag
    const meant = [...open].filter((one) => (allUpTo ? one <= tag : one === tag))
    for (const one of meant) open.delete(one)
    const highest = meant.at(-1)
    if (highest !== undefined) ack({ ...message, fields: { ...message.fields, deliveryTag: highest } }, allUpTo)
  }
  channel.consume = (queue, onMessage, options) =>
    consume(
      queue,
      (message) => {
        if (message !== null) {
          open.add(message.fields.deliveryTag)
          if (isPlantedIn('early-ack', 'early-ack', String(message.properties.messageId))) channel.ack(message)
        }
        onMessage(message)
      },
      options,
    )
}

/** Acks on a channel some of what came on the one before it and was not settled there: by then, tags of other messages. */
function acksStale(channel: Channel, stale: Set<number>): void {
  const open = new Set<number>()
  const [ack, consume] = [channel.ack.bind(channel), channel.consume.bind(channel)]
  channel.ack = (message, allUpTo = false) => {
    const tag = message.fields.deliveryTag
    for (const one of open) if (allUpTo ? one <= tag : one === tag) open.delete(one)
    ack(message, allUpTo)
  }
  channel.on('close', () => {
    for (const tag of open) stale.add(tag)
  })
  channel.consume = (queue, onMessage, options) =>
    consume(
      queue,
      (message) => {
        if (message !== null) {
          open.add(message.fields.deliveryTag)
          if (stale.delete(message.fields.deliveryTag)) ack(message)
        }
        onMessage(message)
      },
      options,
    )
}
