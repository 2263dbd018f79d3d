import { connect, type Channel, type ChannelModel, type ConsumeMessage } from 'amqplib'
import { describe, expect, it } from '@jest/globals'
import { beforeEachOpen } from '../kit/opened.ts'
import { type RabbitOptions } from '../../adapters/amqplib/index.ts'
import { rabbitSource } from '../../adapters/amqplib/source-and-publisher.ts'
import { backends } from '../kit/backends.ts'
import { startProxyOf, type ProxyOf } from '../kit/fault-proxy.ts'
import { Rabbit } from '../rabbitmq/rabbit.ts'
import { changes } from './changes.ts'
import { PAYLOAD } from './consumed.ts'
import type { Counted } from './expected.ts'
import { ARRIVAL, countedFrom, KINDS, type Kind } from './from-broker.ts'
import { RabbitWire } from './rabbit-wire.ts'

const describeRabbit = backends.has('rabbitmq') ? describe : describe.skip

describeRabbit('what 1,000 messages cost at RabbitMQ', () => {
  let rabbit: Rabbit
  let proxy: ProxyOf | undefined
  let wire: RabbitWire

  beforeEachOpen(async (own) => {
    wire = new RabbitWire()
    rabbit = own(await Rabbit.open())
    proxy = own(await startProxyOf(rabbit.url, 5_672, () => wire.connection()))
  })

  for (const [kind, title] of Object.entries(KINDS) as [Kind, string][]) {
    it(`costs what it did: ${title}`, async () => {
      const queue = rabbit.name()
      await rabbit.declare(queue)
      const options: RabbitOptions = { queue, prefetch: 2 * ARRIVAL }
      if (kind === 'retries') rabbit.delayQueues(queue, RETRY_MS)
      const retry: Pick<RabbitOptions, 'retry'> = kind === 'retries' ? { retry: { delayQueues: [RETRY_MS] } } : {}
      const channels: Channel[] = []
      const broker = rabbitSource(() => arrivingTogether(proxy?.url ?? '', channels), { ...options, ...retry })
      // What was sent on a channel before a question is counted when that is answered. A closed one has sent all.
      const meter = async (): Promise<Counted> => {
        for (const channel of channels) await asked(channel, queue)
        return wire.counts
      }
      const body = JSON.stringify(PAYLOAD)
      const send = (ids: readonly string[]): Promise<void> =>
        rabbit.send(
          queue,
          ids.map(() => body),
          { isNameless: true, headersOf: numbered(ids) },
        )
      const counted = await countedFrom({ ...broker, send, meter }, kind)
      const scene = `RabbitMQ ${title}`
      expect(changes(scene, counted)).toBe('')
    })
  }
})

const RETRY_MS = 3_600_000

/** A header for each message, in the order in which they are sent. */
function numbered(ids: readonly string[]): () => Record<string, unknown> {
  let at = 0
  return () => ({ id: ids[at++] })
}

async function asked(channel: Channel, queue: string): Promise<void> {
  try {
    await channel.checkQueue(queue)
  } catch {}
}

/** Hands messages over when all of an arrival are there, in one turn of the event loop. */
async function arrivingTogether(url: string, channels: Channel[]): Promise<ChannelModel> {
  const connection = await connect(url)
  const createChannel = connection.createChannel.bind(connection)
  connection.createChannel = async () => {
    const channel = await createChannel()
    channels.push(channel)
    const consume = channel.consume.bind(channel)
    channel.consume = (queue, onMessage, options) => {
      const held: (ConsumeMessage | null)[] = []
      return consume(
        queue,
        (message) => {
          held.push(message)
          if (held.length === ARRIVAL) for (const one of held.splice(0)) onMessage(one)
        },
        options,
      )
    }
    return channel
  }
  return connection
}
