// Replay a queue: what was published before is published again, and nothing happens again.
import assert from 'node:assert/strict'
import { connect } from 'amqplib'
import { Redis } from 'ioredis'
import { defineConsumer, messageId, type Outcome } from 'consume-once'
import { confirmedPublisher, runRabbit } from 'consume-once/amqplib'
import { redisLease } from 'consume-once/redis'
import { notifications } from './support/notifications.ts'
import { eventually, ownName, rabbitUrl, redisUrl } from './support/servers.ts'

const messages = notifications(2_000)
const queue = ownName('sms')
const redis = new Redis(redisUrl())

let sent = 0
const outcomes = new Map<Outcome, number>()
const sms = defineConsumer({
  name: 'sms-sender',
  id: messageId.property(),
  store: redisLease({ redis, prefix: queue }),
  handle: async () => void sent++,
  observe: (event) => {
    if (event.type === 'delivery') outcomes.set(event.outcome, (outcomes.get(event.outcome) ?? 0) + 1)
  },
})
const running = await runRabbit(rabbitUrl(), sms, { queue })
const publisher = confirmedPublisher(rabbitUrl())

/** Each message with the ID it always had: that is what makes a replay safe. */
async function publishAll(): Promise<void> {
  outcomes.clear()
  for (let at = 0; at < messages.length; at += 500) {
    const publishes = messages
      .slice(at, at + 500)
      .map(({ id, payload }) => publisher.publish({ routingKey: queue, body: Buffer.from(payload), messageId: id }))
    await Promise.all(publishes) // each is confirmed by the broker
  }
  await eventually(async () => [...outcomes.values()].reduce((sum, count) => sum + count, 0) >= messages.length)
}

await publishAll()
const first = sent
console.log(`first time: ${messages.length} deliveries, ${first} SMS`, outcomes)
await publishAll()
console.log(`replayed: ${messages.length} deliveries, ${sent - first} second SMS`, outcomes)
assert.equal(sent, first)
assert.equal(outcomes.get('handled'), undefined)

await running.stop()
await publisher.close()
const connection = await connect(rabbitUrl())
const channel = await connection.createChannel()
for (const name of [queue, `${queue}.dead-letter`]) await channel.deleteQueue(name)
await connection.close()
for (const key of await redis.keys(`${queue}:*`)) await redis.del(key)
redis.disconnect()
