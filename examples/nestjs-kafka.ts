// Nest's own Kafka transport, @EventPattern and all: each message is handled once. A weaker promise than nestjs.ts shows.
import assert from 'node:assert/strict'
import { Controller, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { EventPattern, Payload, Transport, type MicroserviceOptions } from '@nestjs/microservices'
import { Kafka, logLevel } from 'kafkajs'
// #region readme
import { messageId, type HandlerContext } from 'consume-once'
import { redisLease } from 'consume-once/redis'
import { eachMessage, type DropInOptions } from 'consume-once/kafkajs'
import { ConsumeOnceModule, OnceContext, OncePerMessage } from 'consume-once/nestjs'

// #endregion
import { ConsumeOnceConsumers } from 'consume-once/nestjs'
import { redisUnder, removeKeys } from './support/redis.ts'
import { eventually, kafkaBrokers, ownName } from './support/servers.ts'

const topic = ownName('sms')
const groupId = topic
const brokers = kafkaBrokers()
const kafka = new Kafka({ brokers, logLevel: logLevel.NOTHING })
const redis = redisUnder(topic)
const admin = kafka.admin()
await admin.connect()
await admin.createTopics({ topics: [{ topic, numPartitions: 1 }], waitForLeaders: false })

interface Sms {
  readonly to: string
}
const sent: string[] = []
/** The stand-in for a provider. */
const provider = { send: async ({ to }: Sms, _options: { readonly idempotencyKey: string }) => sent.push(to) }

// #region readme
@Controller()
class SmsController {
  @EventPattern(topic)
  @OncePerMessage({ name: 'sms', id: messageId.header('message-id') })
  async send(@Payload() sms: Sms, @OnceContext() { idempotencyKey }: HandlerContext<unknown>) {
    await provider.send(sms, { idempotencyKey })
  }
}

const consumeOnce = ConsumeOnceModule.forRoot({
  defaults: { store: redisLease({ redis }) },
  take: (consumer, options: DropInOptions) => eachMessage(consumer, { kafka, group: groupId, ...options }), // `kafka` publishes dead letters
})

@Module({ imports: [consumeOnce], controllers: [SmsController] })
class AppModule {}

const app = await NestFactory.createMicroservice<MicroserviceOptions>(AppModule, {
  logger: ['error'],
  transport: Transport.KAFKA,
  options: { client: { brokers }, consumer: { groupId }, postfixId: '', subscribe: { fromBeginning: true } },
})
app.enableShutdownHooks()
await app.listen()
// #endregion

const producer = kafka.producer()
await producer.connect()
const message = { value: '{"to":"+15550100"}', headers: { 'message-id': 'n-1' } }
const other = { value: '{"to":"+15550101"}', headers: { 'message-id': 'n-2' } }
for (const one of [message, message, other]) await producer.send({ topic, acks: -1, messages: [one] })
await eventually(async () => {
  const [answer] = await admin.fetchOffsets({ groupId, topics: [topic] })
  return answer?.partitions[0]?.offset === '3'
})
await app.get(ConsumeOnceConsumers).stop()
await app.close()
assert.deepEqual(sent, ['+15550100', '+15550101'])
console.log('3 messages, 2 SMS')

await producer.disconnect()
await admin.deleteTopics({ topics: [topic] })
await admin.deleteGroups([groupId])
await admin.disconnect()
redis.disconnect()
await removeKeys(topic)
