import { connect as connectManaged } from 'amqp-connection-manager'
import type { Channel } from 'amqplib'
import { ConsumerStatus, Connection } from 'rabbitmq-client'
import rascal from 'rascal'
import { onMessage, rabbitMessage, type OnMessage } from '../../adapters/amqplib/index.ts'
import { runInline, type Consumer, type Settlement } from '../../src/index.ts'

/** A consumer under another client: what examples/rabbitmq-*.ts show, of a queue that is there. */
export interface Recipe {
  readonly name: string
  start(url: string, queue: string, consumer: Consumer): Promise<Consuming>
}

interface Consuming {
  stop(): Promise<void>
}

const PREFETCH = 50

const amqpConnectionManager: Recipe = {
  name: 'amqp-connection-manager, by onMessage on its raw channels',
  async start(url, queue, consumer) {
    const connection = connectManaged([url], { reconnectTimeInSeconds: 0.05 })
    let take: OnMessage | undefined
    let latest: Channel | undefined
    let isStopping = false
    const consume = (): Promise<void> => {
      const wrapper = connection.createChannel({
        setup: async (channel: Channel) => {
          latest = channel
          channel.on('error', () => {})
          channel.on('close', () => {
            setTimeout(() => {
              if (isStopping || latest !== channel || !connection.isConnected()) return
              void wrapper.close()
              void consume()
            }, 50)
          })
          await channel.prefetch(PREFETCH)
          const current = onMessage(channel, consumer, { queue })
          take = current
          await channel.consume(queue, (message) => {
            current(message)
            if (message === null) void channel.close()
          })
        },
      })
      wrapper.on('error', () => {})
      return wrapper.waitForConnect()
    }
    await consume()
    return {
      async stop() {
        isStopping = true
        await take?.stop()
        await connection.close()
      },
    }
  },
}

const STATUS: Readonly<Record<Settlement['settle'], ConsumerStatus>> = {
  ack: ConsumerStatus.ACK,
  retry: ConsumerStatus.REQUEUE,
  'dead-letter': ConsumerStatus.DROP,
}

const rabbitmqClient: Recipe = {
  name: 'rabbitmq-client, by handle()',
  async start(url, queue, consumer) {
    const inline = runInline(consumer, { group: queue })
    await inline.open()
    const connection = new Connection({ url, retryLow: 20, retryHigh: 100 })
    const underWay = new Set<(status: ConsumerStatus) => void>()
    connection.on('error', () => {
      for (const letGo of underWay) letGo(ConsumerStatus.REQUEUE)
      underWay.clear()
    })
    const subscription = connection.createConsumer(
      { queue, qos: { prefetchCount: PREFETCH }, queueOptions: { passive: true } },
      (raw) =>
        new Promise<ConsumerStatus>((resolve, reject) => {
          underWay.add(resolve)
          const end = ({ settle }: Settlement): void => {
            underWay.delete(resolve)
            resolve(STATUS[settle])
          }
          inline.handle(rabbitMessage(raw, { queue })).then(end, reject)
        }),
    )
    subscription.on('error', () => {})
    return {
      async stop() {
        await Promise.all([inline.stop(), subscription.close()])
        await connection.close()
      },
    }
  },
}

const RASCAL_RETRY = { min: 50, max: 100, factor: 1, strategy: 'linear' } as const

const underRascal: Recipe = {
  name: 'rascal, by handle()',
  async start(url, queue, consumer) {
    const inline = runInline(consumer, { group: queue })
    await inline.open()
    const broker = await rascal.BrokerAsPromised.create(
      rascal.withDefaultConfig({
        vhosts: {
          '/': {
            connection: { url, retry: RASCAL_RETRY, management: { url: 'http://guest:guest@127.0.0.1:1' } },
            queues: { [queue]: { assert: false, check: true } },
            subscriptions: {
              sms: { queue, prefetch: PREFETCH, contentType: 'application/octet-stream', retry: RASCAL_RETRY },
            },
          },
        },
      }),
    )
    broker.on('error', () => {})
    const subscription = await broker.subscribe('sms')
    subscription.on('error', () => {})
    subscription.on('message', async (raw, _content, ackOrNack) => {
      const { settle, retryAfterMs = 1_000 } = await inline.handle(rabbitMessage(raw, { queue }))
      if (settle === 'ack') ackOrNack()
      else if (settle === 'retry')
        ackOrNack(new Error('again'), { strategy: 'nack', defer: retryAfterMs, requeue: true })
      else ackOrNack(new Error('dead letter'), { strategy: 'nack' })
    })
    return {
      async stop() {
        await Promise.all([inline.stop(), subscription.cancel()])
        await broker.shutdown()
      },
    }
  },
}

export const RECIPES: readonly Recipe[] = [amqpConnectionManager, rabbitmqClient, underRascal]
