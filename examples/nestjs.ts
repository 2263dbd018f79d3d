// A NestJS application whose provider handles messages of Kafka, each once. It starts and stops with the application.
import assert from 'node:assert/strict'
import { Inject, Injectable, Module, type OnApplicationShutdown } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { Kafka, logLevel } from 'kafkajs'
// #region readme
import { json, messageId, type HandlerContext } from 'consume-once'
import { redisLease } from 'consume-once/redis'
import { runKafka, type KafkaOptions } from 'consume-once/kafkajs'
import { ConsumeOnceModule, HandleOnce } from 'consume-once/nestjs'

// #endregion
import { ConsumeOnceConsumers } from 'consume-once/nestjs'
import { redisUnder, removeKeys } from './support/redis.ts'
import { eventually, kafkaBrokers, ownName } from './support/servers.ts'

const topic = ownName('sms')
const group = topic
const setUp = new Kafka({ brokers: kafkaBrokers(), logLevel: logLevel.NOTHING })
const admin = setUp.admin()
await admin.connect()
await admin.createTopics({ topics: [{ topic, numPartitions: 1 }], waitForLeaders: false })

interface Sms {
  readonly smsId: string
  readonly to: string
}

/** The stand-in for a provider. */
@Injectable()
class SmsProvider {
  readonly sent: string[] = []
  async send({ to }: Sms, _options: { readonly idempotencyKey: string }): Promise<void> {
    this.sent.push(to)
  }
}

/** Clients of the application, closed after everything else. */
class Clients implements OnApplicationShutdown {
  readonly kafka = new Kafka({ brokers: kafkaBrokers(), logLevel: logLevel.ERROR })
  readonly redis = redisUnder(topic)
  onApplicationShutdown(): void {
    this.redis.disconnect()
  }
}

@Module({ providers: [Clients], exports: [Clients] })
class ClientsModule {}

// #region readme
@Injectable()
class SmsHandler {
  @Inject(SmsProvider) private readonly provider!: SmsProvider

  @HandleOnce({
    name: 'sms',
    id: messageId.payload('/smsId'),
    decode: json<Sms>(),
    startWith: { topics: [topic], group },
  })
  async send({ payload, idempotencyKey }: HandlerContext<Sms>) {
    await this.provider.send(payload, { idempotencyKey })
  }
}

@Module({
  imports: [
    ConsumeOnceModule.forRootAsync({
      imports: [ClientsModule],
      inject: [Clients],
      useFactory: ({ kafka, redis }: Clients) => ({
        defaults: { store: redisLease({ redis }) },
        start: (consumer, from: KafkaOptions) => runKafka(kafka, consumer, from),
      }),
    }),
  ],
  providers: [SmsHandler, SmsProvider],
})
class AppModule {}
// #endregion

const app = await NestFactory.createApplicationContext(AppModule, { logger: false })
const producer = setUp.producer()
await producer.connect()
const message = { value: JSON.stringify({ smsId: 'n-1', to: '+15550100' }) }
const other = { value: JSON.stringify({ smsId: 'n-2', to: '+15550101' }) }
for (const one of [message, message, other]) await producer.send({ topic, acks: -1, messages: [one] })
const { sent } = app.get(SmsProvider)
await eventually(async () => sent.length === 2)
const consumers = app.get(ConsumeOnceConsumers)
assert.equal(consumers.isReady('consumers').consumers.status, 'up')
await app.close()
assert.equal(consumers.running.get('sms')?.state, 'stopped')
assert.deepEqual(sent, ['+15550100', '+15550101'])
console.log('3 messages, 2 SMS; the consumer stopped with the application')

await producer.disconnect()
await admin.deleteTopics({ topics: [topic, `${topic}.dead-letter`] })
await admin.deleteGroups([group])
await admin.disconnect()
await removeKeys(topic)
