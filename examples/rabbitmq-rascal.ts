// Under rascal 21, which owns the ack: handle() says what to tell it.
// The traps: its recovery strategy `ack` sends a nack without requeue, which drops the message where the queue has no dead-letter
// exchange; so does `forward` when its publish fails. `nack` with `requeue: true` is the only one that gives a message back. And what
// its content parser does not understand never becomes a `message`, but is nacked away: `contentType` keeps it from parsing.
import assert from 'node:assert/strict'
import rascal from 'rascal'
import { connect } from 'amqplib'
import { defineConsumer, json, messageId, runInline } from 'consume-once'
import { memoryStore } from 'consume-once/memory'
import { confirmedPublisher, rabbitDeadLetters, rabbitMessage } from 'consume-once/amqplib'
import { eventually, ownName, rabbitUrl } from './support/servers.ts'

const queue = ownName('sms')
const deadQueue = `${queue}.dead-letter`
const setUp = await connect(rabbitUrl())
const channel = await setUp.createChannel()
for (const name of [queue, deadQueue]) {
  await channel.assertQueue(name, { durable: true, arguments: { 'x-queue-type': 'quorum' } })
}

const sent: string[] = []
const sms = defineConsumer({
  name: 'sms-sender',
  id: messageId.property(),
  decode: json<{ to: string }>(),
  store: memoryStore(), // a real one survives the process: redisLease, postgresInbox
  handle: ({ payload }) => sent.push(payload.to),
})

const publisher = confirmedPublisher(rabbitUrl())
// The keys are those of runRabbit on this queue. Failures are tried again in here; dead letters are published before the ack.
const inline = runInline(sms, { group: queue, publisher: rabbitDeadLetters(publisher, deadQueue) })
await inline.open() // else a store that is down would turn each delivery into an error

const broker = await rascal.BrokerAsPromised.create(
  rascal.withDefaultConfig({
    vhosts: {
      '/': {
        connection: { url: rabbitUrl() },
        queues: { [queue]: { assert: false, check: true } },
        subscriptions: { sms: { queue, prefetch: 100, contentType: 'application/octet-stream' } },
      },
    },
  }),
)
broker.on('error', (error) => console.error(error))
const subscription = await broker.subscribe('sms')
subscription.on('error', (error) => console.error(error))
subscription.on('message', async (raw, _content, ackOrNack) => {
  const { settle, retryAfterMs = 1_000 } = await inline.handle(rabbitMessage(raw, { queue }))
  if (settle === 'ack') ackOrNack()
  else ackOrNack(new Error('not handled here'), { strategy: 'nack', defer: retryAfterMs, requeue: true })
})

const message = { routingKey: queue, messageId: 'sms-1', body: '{"to":"+15550100"}' }
await publisher.publish(message)
await publisher.publish(message)
await publisher.publish({
  ...message,
  messageId: 'sms-2',
  body: 'no JSON',
  properties: { contentType: 'application/json' },
})
await eventually(async () => sent.length === 1 && (await channel.checkQueue(deadQueue)).messageCount === 1)

await Promise.all([inline.stop(), subscription.cancel()])
await broker.shutdown() // may lose the last acks: those messages come again, and are duplicates
assert.deepEqual(sent, ['+15550100'])
console.log('3 messages published, 1 SMS, 1 dead letter')

await publisher.close()
for (const name of [queue, deadQueue]) await channel.deleteQueue(name)
await setUp.close()
