// Replay a queue from a file: what was published before is published again, and nothing happens again.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { connect } from 'amqplib'
import { Redis } from 'ioredis'
import { defineConsumer, messageId, type Outcome } from 'consume-once'
import { confirmedPublisher, runRabbit } from 'consume-once/amqplib'
import { redisLease } from 'consume-once/ioredis'
import { eventually, ownName, rabbitUrl, redisUrl } from './support/servers.ts'

interface Envelope {
  readonly headers: readonly string[]
  readonly payload: string
}

const lines = readFileSync(new URL('data/sms-notifications.ndjson', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .slice(0, 2_000)
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
async function publishFile(): Promise<void> {
  outcomes.clear()
  for (let at = 0; at < lines.length; at += 500) {
    const publishes = lines.slice(at, at + 500).map((line) => {
      const { headers, payload } = JSON.parse(line) as Envelope
      return publisher.publish({ routingKey: queue, body: Buffer.from(payload), messageId: headers[1] ?? '' })
    })
    await Promise.all(publishes) // each is confirmed by the broker
  }
  await eventually(async () => [...outcomes.values()].reduce((sum, count) => sum + count, 0) >= lines.length)
}

await publishFile()
const first = sent
console.log(`first time: ${lines.length} deliveries, ${first} SMS`, outcomes)
await publishFile()
console.log(`replayed: ${lines.length} deliveries, ${sent - first} second SMS`, outcomes)
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
