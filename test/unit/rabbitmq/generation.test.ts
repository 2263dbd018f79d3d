import { EventEmitter } from 'node:events'
import { expect, it } from '@jest/globals'
import type { AmqpChannel, AmqpConnection, AmqpMessage } from '../../../adapters/amqplib/amqplib-like.ts'
import type { RabbitDelivery } from '../../../adapters/amqplib/consuming/delivery.ts'
import { Generation } from '../../../adapters/amqplib/consuming/generation.ts'
import type { FittedSettings } from '../../../adapters/amqplib/options/fit.ts'
import { resolveRabbitOptions } from '../../../adapters/amqplib/options/resolve.ts'

/** Notes the requests, and answers a cancel when told to. */
class Channel extends EventEmitter {
  readonly asked: string[] = []
  receive: (message: AmqpMessage) => void = () => {}
  answerCancel: () => void = () => {}

  async prefetch(): Promise<void> {}
  async consume(_queue: string, onMessage: (message: AmqpMessage) => void): Promise<void> {
    this.receive = onMessage
  }
  cancel(): Promise<void> {
    this.asked.push('cancel')
    return new Promise((resolve) => (this.answerCancel = resolve))
  }
  nack({ fields: { deliveryTag } }: Pick<AmqpMessage, 'fields'>): void {
    this.asked.push(`nack ${deliveryTag}`)
  }
  async close(): Promise<void> {
    this.asked.push('close')
  }
}

const nothing = (): void => {}

const fields = { redelivered: false, exchange: '', routingKey: 'sms' }

async function consuming(taken: number): Promise<{
  readonly channel: Channel
  readonly generation: Generation
  readonly deliveries: RabbitDelivery[]
}> {
  const channel = new Channel()
  const deliveries: RabbitDelivery[] = []
  const settings: FittedSettings = { ...resolveRabbitOptions({ queue: 'sms' }), prefetch: 10, maxAttempts: 5 }
  const connection = { createChannel: async () => channel as unknown as AmqpChannel } as unknown as AmqpConnection
  const generation = await Generation.open(connection, {
    number: 1,
    settings,
    consumeArguments: {},
    countsReturns: false,
    isPaused: false,
    hooks: {
      deliver: (arrived) => deliveries.push(...arrived),
      laneOf: () => undefined,
      onArrival: nothing,
      onStale: nothing,
      onHandedBack: nothing,
      onSettled: nothing,
      onBroken: nothing,
      onEnd: nothing,
    },
  })
  for (let deliveryTag = 1; deliveryTag <= taken; deliveryTag++)
    channel.receive({ content: Buffer.from('x'), fields: { ...fields, deliveryTag }, properties: {} })
  await new Promise(setImmediate)
  expect(deliveries).toHaveLength(taken)
  return { channel, generation, deliveries }
}

it('is stopped once, however often it is asked, and returns what it was handed meanwhile', async () => {
  const { channel, generation, deliveries } = await consuming(2)
  const stopping = generation.stopIntake()
  expect(deliveries[0]?.handBack()).toBe(true)
  const again = generation.stopIntake()
  channel.answerCancel()
  await Promise.all([stopping, again])
  await generation.stopIntake()
  expect(deliveries[1]?.handBack()).toBe(true)
  expect(channel.asked).toEqual(['cancel', 'nack 1', 'nack 2'])
})
