// A provider that refuses once: the message waits on delay queues of RabbitMQ, and not in the process.
import assert from 'node:assert/strict'
import { connect } from 'amqplib'
import { defineConsumer, json, messageId } from 'consume-once'
import { memoryStore } from 'consume-once/memory'
// #region start
import { runRabbit } from 'consume-once/amqplib'

// #endregion
// #region publish
import { confirmedPublisher } from 'consume-once/amqplib'

// #endregion
import { eventually, ownName, rabbitUrl } from './support/servers.ts'

const url = rabbitUrl()
const queue = ownName('sms')
const order = { id: 'order-17', to: '+15550100' }
const attempts: number[] = []
const sms = defineConsumer({
  name: 'sms-sender',
  id: messageId.property(),
  decode: json<{ to: string }>(),
  store: memoryStore(), // a real one survives the process: redisLease, postgresInbox
  handle: ({ attempt }) => {
    attempts.push(attempt)
    if (attempt < 2) throw new Error('503, try again')
  },
})

// #region start
const running = runRabbit(url, sms, { queue, retry: { delayQueues: [1_000, 60_000] } })
process.on('SIGTERM', () => void running.stop({ deadlineMs: 20_000 }))
await running.ready()
// #endregion

// #region publish
const publisher = confirmedPublisher(url) // or options, a factory, { connection }
await publisher.publish({ routingKey: queue, messageId: order.id, body: JSON.stringify(order) })
// #endregion
await eventually(async () => attempts.length === 2)
await running.stop()
await publisher.close()
assert.deepEqual(attempts, [1, 2])
console.log('refused once, sent a second later')

const connection = await connect(url)
const channel = await connection.createChannel()
for (const name of [queue, `${queue}.dead-letter`, `${queue}.retry.1000`, `${queue}.retry.60000`]) {
  await channel.deleteQueue(name)
}
await connection.close()
