// RabbitMQ and a Redis lease: an effect outside of any database. Published twice, and refused by the provider once.
import assert from 'node:assert/strict'
// #region readme
import { Redis } from 'ioredis'
import { defineConsumer, json, messageId } from 'consume-once'
import { runRabbit } from 'consume-once/amqplib'
import { redisLease } from 'consume-once/redis'
// #endregion
import { confirmedPublisher } from 'consume-once/amqplib'
import { connect } from 'amqplib'
import { eventually, ownName, rabbitUrl, redisUrl } from './support/servers.ts'

process.env['REDIS_URL'] ??= redisUrl()
process.env['RABBITMQ_URL'] ??= rabbitUrl()
const queue = ownName('emails')
const accepted: string[] = []
let refusals = 1
/** The stand-in for a provider: it refuses the first request. */
async function sendEmail(to: string, _options: { signal: AbortSignal }): Promise<void> {
  if (refusals-- > 0) throw new Error('429, nothing was sent: try again')
  accepted.push(to)
}

// #region readme
const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://localhost')

const emails = defineConsumer({
  name: 'email-sender',
  id: messageId.property(), // AMQP's messageId
  decode: json<{ to: string }>(),
  store: redisLease({ redis }),
  onInDoubt: 'park', // after a crash between effect and mark a person decides
  handle: async ({ payload, signal }) => {
    await sendEmail(payload.to, { signal }) // throw OutcomeUnknownError when you do not know whether it was sent
  },
})

// Declares `queue` and its dead-letter queue as quorum queues where they are missing (to change that, set `queueType` or `setup`).
const running = runRabbit(process.env['RABBITMQ_URL'] ?? 'amqp://localhost', emails, { queue })
process.on('SIGTERM', () => void running.stop({ deadlineMs: 10_000 }))
await running.ready()
// #endregion

const publisher = confirmedPublisher(rabbitUrl())
const email = { routingKey: queue, body: Buffer.from('{"to":"ada@example.org"}'), messageId: 'mail-1' }
await publisher.publish(email)
await publisher.publish(email)
await eventually(async () => accepted.length > 0 && running.health().checks['handlers'] === '0 in flight')
await running.stop({ deadlineMs: 10_000 })
await publisher.close()
assert.equal(accepted.length, 1)
console.log('published twice, refused once by the provider, accepted once')

const connection = await connect(rabbitUrl())
const channel = await connection.createChannel()
for (const name of [queue, `${queue}.dead-letter`]) await channel.deleteQueue(name)
await connection.close()
redis.disconnect()
