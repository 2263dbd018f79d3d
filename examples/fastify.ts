// A Fastify application whose consumer of RabbitMQ starts and stops with it, and answers probes.
import assert from 'node:assert/strict'
import { connect } from 'amqplib'
import fastify from 'fastify'
import { defineConsumer, json, messageId } from 'consume-once'
import { confirmedPublisher, runRabbit } from 'consume-once/amqplib'
// #region readme
import { consumeOncePlugin } from 'consume-once/fastify'

// #endregion
import { redisLease } from 'consume-once/redis'
import { redisUnder, removeKeys } from './support/redis.ts'
import { eventually, ownName, rabbitUrl } from './support/servers.ts'

const url = rabbitUrl()
const port = 0 // any free one
const queue = ownName('sms')
const redis = redisUnder(queue)
const sent: string[] = []
const sms = defineConsumer({
  name: 'sms-sender',
  id: messageId.property(),
  decode: json<{ to: string }>(),
  store: redisLease({ redis }),
  handle: ({ payload }) => void sent.push(payload.to),
})

// #region readme
const app = fastify()
await app.register(consumeOncePlugin, { start: () => ({ sms: runRabbit(url, sms, { queue }) }) })
const stopping = new AbortController()
process.on('SIGTERM', () => stopping.abort())
await app.listen({ port, signal: stopping.signal }) // the consumer starts, and GET /healthz and /readyz answer
// #endregion

await app.consumers['sms']?.ready()
const ready = await fetch(`${app.listeningOrigin}/readyz`)
assert.equal(ready.status, 200)
const publisher = confirmedPublisher(url)
const message = { routingKey: queue, messageId: 'sms-1', body: '{"to":"+15550100"}' }
for (const one of [message, message, { ...message, messageId: 'sms-2' }]) await publisher.publish(one)
await eventually(async () => sent.length === 2)
await app.close()
assert.deepEqual([app.consumers['sms']?.state, sent.length], ['stopped', 2])
console.log('3 messages, 2 SMS; the consumer stopped with the application')

await publisher.close()
const connection = await connect(url)
const channel = await connection.createChannel()
for (const name of [queue, `${queue}.dead-letter`]) await channel.deleteQueue(name)
await connection.close()
await removeKeys(queue)
await redis.quit()
