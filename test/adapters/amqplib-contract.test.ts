import { runRabbit } from 'consume-once/amqplib'
import { describeSourceContract } from '../contract/source-contract.ts'
import { eventually } from '../contract/source-harness.ts'
import { startCuttingProxy } from '../support/cutting-proxy.ts'
import { Rabbit } from './amqplib-kit.ts'

describeSourceContract('amqplib', async () => {
  const rabbit = await Rabbit.open()
  const server = new URL(rabbit.url)
  const proxy = await startCuttingProxy(Number(server.port || 5672))
  const url = Object.assign(new URL(rabbit.url), { hostname: '127.0.0.1', port: String(proxy.port) }).toString()
  const queue = rabbit.name()
  let published = 0
  return {
    publish: async (texts) => {
      for (const text of texts) await rabbit.send(queue, [text], { headers: { 'message-id': text } })
      published += texts.length
    },
    run: (consumer) =>
      runRabbit(url, consumer, {
        queue,
        lane: ({ value }) => {
          const text = Buffer.from(value ?? '').toString()
          return text.includes('/') ? text.slice(0, text.indexOf('/')) : undefined
        },
      }),
    interrupt: async (running) => {
      proxy.cut()
      await eventually('it noticed', () => !running.health().ready)
      await eventually('it is back', () => running.health().ready)
    },
    // The broker tells what is ready; of what a consumer holds unacked only the consumer knows.
    isSettled: async (driven) => driven.settled === published && (await rabbit.ready(queue)) === 0,
    deadLetters: async () => {
      const letters = await rabbit.takeLeft(`${queue}.dead-letter`)
      return letters.map(({ body, properties }) => ({
        text: body,
        reason: String(properties.headers?.['consume-once-reason']),
      }))
    },
    [Symbol.asyncDispose]: async () => {
      await rabbit[Symbol.asyncDispose]()
      await proxy.stop()
    },
  }
})
