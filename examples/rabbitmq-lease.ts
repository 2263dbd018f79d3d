// RabbitMQ and a Redis lease: an effect outside of any database. Sent twice, and refused by the provider once.
import assert from 'node:assert/strict'
// #region readme
import { Redis } from 'ioredis'
import { defineConsumer, json, messageId } from 'consume-once'
import { runRabbit, confirmedPublisher } from 'consume-once/amqplib'
import { redisLease } from 'consume-once/ioredis'
// #endregion
import { connect } from 'amqplib'
import { eventually, ownName, rabbitUrl, redisUrl } from './support/servers.ts'

const queue = ownName('emails')
const accepted: string[] = []
let refusals = 1
const provider = {
  async send(
    _email: { to: string },
    { idempotencyKey }: { idempotencyKey: string; signal: AbortSignal },
  ): Promise<void> {
    if (refusals-- > 0) throw new Error('503, try again')
    accepted.push(idempotencyKey)
  },
}

// #region readme
const redis = new Redis(redisUrl())

const emails = defineConsumer({
  name: 'email-sender',
  id: messageId.property(), // AMQP's messageId
  decode: json<{ to: string }>(),
  store: redisLease({ redis, prefix: queue }),
  leaseMs: 30_000,
  onInDoubt: 'park', // after a crash between effect and mark a person decides
  handle: async ({ payload, idempotencyKey, signal }) => {
    await provider.send(payload, { idempotencyKey, signal }) // a throw asserts that nothing was sent: it is tried again
  },
})

const running = await runRabbit(rabbitUrl(), emails, { queue })
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
for (const key of await redis.keys(`${queue}:*`)) await redis.del(key)
redis.disconnect()
