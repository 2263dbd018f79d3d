import type { Message, Running } from 'consume-once'
import { runRabbit, type RabbitConnect } from 'consume-once/amqplib'
import { eventually } from '../../testing/contract/source/driven.ts'
import type { SourceHarness } from '../../testing/contract/source/harness.ts'
import { startFaultProxy } from '../kit/fault-proxy.ts'
import { Rabbit } from './rabbit.ts'

/** A queue of the tests' RabbitMQ, behind a proxy that cuts. `connectTo` says how the consumer reaches a URL. */
export async function rabbitHarness(connectTo: (url: string) => RabbitConnect): Promise<SourceHarness> {
  const rabbit = await Rabbit.open()
  const server = new URL(rabbit.url)
  const proxy = await startFaultProxy(Number(server.port || 5672))
  const url = Object.assign(new URL(rabbit.url), { hostname: '127.0.0.1', port: String(proxy.port) }).toString()
  const queue = rabbit.name()
  const [exchange, deadLetters] = [`${queue}.exchange`, `${queue}.dead-letter`]
  await rabbit.declare(deadLetters)
  await rabbit.ask((channel) => channel.assertExchange(exchange, 'fanout', { durable: true }))
  const bind = async (): Promise<void> =>
    void (await rabbit.ask((channel) => channel.bindQueue(deadLetters, exchange, '')))
  await bind()
  let published = 0
  const started: Running[] = []
  return {
    publish: async (texts) => {
      await rabbit.send(queue, texts, { headersOf: (text) => ({ 'message-id': text }) })
      published += texts.length
    },
    run: (consumer) => {
      const running = runRabbit(connectTo(url), consumer, { queue, lane: orderingKeyOf, deadLetter: { exchange } })
      started.push(running)
      return running
    },
    interrupt: async (running) => {
      proxy.cut()
      await eventually('it noticed', () => !running.health().ready)
      await eventually('it is back', () => running.health().ready)
      return 'lost' // A queue gives them to whoever is there.
    },
    takeAway: async () => proxy.cut(),
    disconnect: async () => proxy.cut(),
    // The broker returns what its exchange takes to no queue.
    refuseCopies: async () => {
      await rabbit.ask((channel) => channel.unbindQueue(deadLetters, exchange, ''))
      return bind
    },
    // The broker tells what is ready; of what a consumer holds unacked only the consumer knows. An ack that an interruption
    // swallowed is told, and told again for the redelivery.
    isSettled: async (driven) =>
      (await rabbit.ready(queue)) === 0 && driven.settled >= published && started.every((running) => isIdle(running)),
    deadLetters: async () => {
      const found = await rabbit.takeLeft(deadLetters)
      return found.map(({ body, properties }) => ({
        text: body,
        reason: String(properties.headers?.['consume-once-reason']),
        id: properties.headers?.['message-id'] as string | undefined,
      }))
    },
    [Symbol.asyncDispose]: async () => {
      await rabbit.ask((channel) => channel.deleteExchange(exchange))
      await rabbit[Symbol.asyncDispose]()
      await proxy.stop()
    },
  }
}

function isIdle(running: Running): boolean {
  return running.health().checks['handlers'] === '0 in flight'
}

function orderingKeyOf({ value }: Message): string | undefined {
  const text = Buffer.from(value ?? '').toString()
  return text.includes('/') ? text.slice(0, text.indexOf('/')) : undefined
}

/** Why the law on keys is skipped. */
export const NO_KEYS = 'a message of RabbitMQ has no key'
