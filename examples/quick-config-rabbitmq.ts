// The config of the command-line tool for the quick start with RabbitMQ and Redis. It connects when a command needs it.
// #region readme
import { Redis } from 'ioredis'
import { defineConfig, defineConsumer, messageId, type ConsumeOnceConfig } from 'consume-once'
import { rabbitSubscription } from 'consume-once/amqplib'
import { redisLease } from 'consume-once/redis'

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379', { lazyConnect: true })
const rabbitUrl = process.env['RABBITMQ_URL'] ?? 'amqp://guest:guest@127.0.0.1:5672'
const queue = process.env['QUEUE'] ?? 'sms'

// In a project: import the consumer from a module that defines it and does not run it.
const sms = defineConsumer({
  name: 'sms-sender',
  id: messageId.property(),
  store: redisLease({ redis }),
  handle: () => {},
})

const config: ConsumeOnceConfig = defineConfig({
  consumers: [{ consumer: sms, subscription: rabbitSubscription(rabbitUrl, { queue }) }],
  close: () => redis.disconnect(),
})
export default config
// #endregion
