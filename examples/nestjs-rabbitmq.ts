// @RabbitSubscribe of @golevelup/nestjs-rabbitmq: each message is handled once. A weaker promise than runRabbit's.
import assert from 'node:assert/strict'
import { RabbitMQModule, RabbitPayload, RabbitSubscribe } from '@golevelup/nestjs-rabbitmq'
import { Injectable, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { connect } from 'amqplib'
// #region readme
import { messageId, type HandlerContext } from 'consume-once'
import { redisLease } from 'consume-once/redis'
import { confirmedPublisher, eachDelivery, type OnMessageOptions } from 'consume-once/amqplib'
import { ConsumeOnceModule, OnceContext, OncePerMessage } from 'consume-once/nestjs'

// #endregion
import { redisUnder, removeKeys } from './support/redis.ts'
import { eventually, ownName, rabbitUrl } from './support/servers.ts'

const url = rabbitUrl()
const queue = ownName('sms')
const deadQueue = `${queue}.dead-letter`
const redis = redisUnder(queue)
const publisher = confirmedPublisher(url)
const connection = await connect(url)
const channel = await connection.createChannel()
for (const name of [queue, deadQueue]) {
  await channel.assertQueue(name, { durable: true, arguments: { 'x-queue-type': 'quorum' } })
}

interface Sms {
  readonly to: string
}
const sent: string[] = []
/** The stand-in for a provider. */
const provider = { send: async ({ to }: Sms, _options: { readonly idempotencyKey: string }) => sent.push(to) }

// #region readme
@Injectable()
class SmsService {
  @RabbitSubscribe({ queue, createQueueIfNotExists: false })
  @OncePerMessage({ name: 'sms', id: messageId.property(), takeWith: { queue } })
  async send(@RabbitPayload() sms: Sms, @OnceContext() { idempotencyKey }: HandlerContext<unknown>) {
    await provider.send(sms, { idempotencyKey })
  }
}

const consumeOnce = ConsumeOnceModule.forRoot({
  defaults: { store: redisLease({ redis }) },
  take: (consumer, options: OnMessageOptions) =>
    eachDelivery(consumer, { deadLetter: { publisher, queue: deadQueue }, ...options }),
})

@Module({ imports: [consumeOnce, RabbitMQModule.forRoot({ uri: url })], providers: [SmsService] })
class AppModule {}
// #endregion

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] })
const message = { routingKey: queue, messageId: 'n-1', body: '{"to":"+15550100"}' }
await publisher.publish(message)
await publisher.publish(message) // a producer that saw no confirm sends it again, with the same ID
await publisher.publish({ ...message, messageId: 'n-2', body: '{"to":"+15550101"}' })
await eventually(async () => sent.length === 2 && (await channel.checkQueue(queue)).messageCount === 0)
await app.close()
assert.deepEqual(sent.toSorted(), ['+15550100', '+15550101'])
console.log('3 messages, 2 SMS')

await publisher.close()
for (const name of [queue, deadQueue]) await channel.deleteQueue(name)
await connection.close()
redis.disconnect()
await removeKeys(queue)
