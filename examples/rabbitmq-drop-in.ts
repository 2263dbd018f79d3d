// A channel of amqplib that stays yours: only the consume callback changes. A weaker promise than runRabbit's, which rabbitmq-lease.ts shows.
import assert from 'node:assert/strict'
import { connect } from 'amqplib'
import { Redis } from 'ioredis'
import { defineConsumer, json, messageId } from 'consume-once'
import { confirmedPublisher, onMessage } from 'consume-once/amqplib'
import { redisLease } from 'consume-once/redis'
import { eventually, ownName, rabbitUrl, redisUrl } from './support/servers.ts'

process.env['RABBITMQ_URL'] ??= rabbitUrl()
process.env['REDIS_URL'] ??= redisUrl()
const queue = ownName('sms')
const deadQueue = `${queue}.dead-letter`
const sent: string[] = []
let mistakes = 1
/** The stand-in for a provider, called by code with a mistake. */
async function send(sms: { to: string }): Promise<void> {
  if (mistakes-- > 0) throw new TypeError("Cannot read properties of undefined (reading 'status')")
  sent.push(sms.to)
}

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://localhost')
const publisher = confirmedPublisher(process.env['RABBITMQ_URL'] ?? 'amqp://localhost')

const sms = defineConsumer({
  name: 'sms-sender',
  id: messageId.property(),
  decode: json<{ to: string }>(),
  store: redisLease({ redis, prefix: queue }),
  handle: ({ payload }) => send(payload),
})

const connection = await connect(process.env['RABBITMQ_URL'] ?? 'amqp://localhost')
const channel = await connection.createChannel()
// Yours: a channel error that nobody listens to ends the connection. Here it ends what was consumed: begin anew.
channel.on('error', (error) => console.error(error))
await channel.prefetch(100) // all that bounds what is taken
for (const name of [queue, deadQueue]) {
  await channel.assertQueue(name, { durable: true, arguments: { 'x-queue-type': 'quorum' } })
}
// #region readme
const take = onMessage(channel, sms, { queue, deadLetter: { publisher, queue: deadQueue } })
const { consumerTag } = await channel.consume(queue, take, { noAck: false })
// #endregion

const message = { routingKey: queue, messageId: 'sms-1', body: '{"to":"+15550100"}' }
await publisher.publish(message)
await publisher.publish(message) // a producer that saw no confirm sends it again, with the same ID
await publisher.publish({ ...message, messageId: 'sms-2', body: 'no JSON' })
await eventually(async () => sent.length === 1 && (await channel.checkQueue(deadQueue)).messageCount === 1)

// #region readme
// When the process ends, in this order. Quorum queues lose acks that come right before a close: stop() waits for them.
await channel.cancel(consumerTag)
await take.stop({ deadlineMs: 10_000 })
await channel.close()
// #endregion
assert.deepEqual(sent, ['+15550100'])
console.log('3 messages published, one mistake, 1 SMS, 1 dead letter')

const cleanUp = await connection.createChannel()
for (const name of [queue, deadQueue]) await cleanUp.deleteQueue(name)
await connection.close()
await publisher.close()
for await (const keys of redis.scanStream({ match: `${queue}*` })) {
  if ((keys as string[]).length > 0) await redis.del(keys as string[])
}
redis.disconnect()
