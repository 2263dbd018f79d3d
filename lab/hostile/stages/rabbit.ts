import type { GetMessage, Options } from 'amqplib'
import { runRabbit } from '../../../adapters/amqplib/index.ts'
import { writable } from '../../../adapters/amqplib/message/writable.ts'
import { Rabbit } from '../../../test/rabbitmq/rabbit.ts'
import { uniqueName } from '../../../test/kit/namespace.ts'
import { HERE } from '../entry.ts'
import { NUMBER_HEADER, Numbers, numberedHeaders, planFor, type Sending } from '../plan.ts'
import type { FoundDeadLetter, Stage } from '../stage.ts'
import { WirePublisher } from './wire-publisher.ts'

const RETRY_DELAY_MS = 20

/** A quorum queue, a delay queue and a dead-letter queue. */
export async function rabbitStage(): Promise<Stage> {
  const rabbit = await Rabbit.open()
  const publisher = await WirePublisher.open(rabbit.url)
  const queue = rabbit.name()
  rabbit.delayQueues(queue, RETRY_DELAY_MS)
  const numbers = new Numbers(planFor('rabbitmq'))
  const found: FoundDeadLetter[] = []

  const deadLetterOf = ({ content, properties }: GetMessage): FoundDeadLetter => {
    const headers = properties.headers ?? {}
    // Headers that amqplib cannot write are left out of a copy, with all others of the sender.
    const { messageId, correlationId, type, appId } = properties
    const number = numbers.of(headers, content) ?? (correlationId === undefined ? undefined : Number(correlationId))
    return {
      number,
      reason: String(headers['consume-once-reason']),
      value: content,
      moveBack: async () => {
        const named = number === undefined ? headers : { ...headers, [NUMBER_HEADER]: String(number) }
        // amqplib alone would write another message ID than it read.
        const same = Object.fromEntries(Object.entries(named).map(([name, value]) => [name, writable(value)]))
        publisher.publish(queue, content, same, { messageId, correlationId, type, appId })
        await publisher.confirmed()
      },
    }
  }
  return {
    carrier: 'rabbitmq',
    start: (consumer) => runRabbit(rabbit.url, consumer, { queue, retry: { delayQueues: [RETRY_DELAY_MS] } }),
    async send(sendings) {
      for (const sending of sendings) {
        const headers = numberedHeaders(sending)
        publisher.publish(
          queue,
          sending.value ?? Buffer.alloc(0),
          headers && placed(headers, queue),
          propertiesOf(sending),
        )
      }
      await publisher.confirmed()
    },
    async deadLetters() {
      const last = uniqueName('last')
      await rabbit.send(`${queue}.dead-letter`, [last])
      await rabbit.ask(async (channel) => {
        for (;;) {
          const message = await channel.get(`${queue}.dead-letter`, { noAck: true })
          if (message === false) continue
          if (message.properties.messageId === last) return
          found.push(deadLetterOf(message))
        }
      })
      return [...found]
    },
    async untilDrained() {
      if ((await rabbit.ready(queue)) > 0) throw new Error(`${queue} still holds what was settled`)
    },
    async [Symbol.asyncDispose]() {
      await publisher[Symbol.asyncDispose]()
      await rabbit[Symbol.asyncDispose]()
    },
  }
}

function placed(headers: Record<string, unknown>, queue: string): Record<string, unknown> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value === HERE ? queue : value]))
}

function propertiesOf({ number, message: { properties = {}, timestamp } }: Sending): Options.Publish {
  const seconds = timestamp === undefined ? {} : { timestamp: Math.floor(timestamp / 1_000) }
  return { correlationId: String(number), ...seconds, ...properties }
}
