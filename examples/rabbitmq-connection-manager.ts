// Under amqp-connection-manager 5: onMessage on the raw channel of each connection.
// The trap: wrapper.consume() and wrapper.ack(). A handler that ends after a reconnect acks through the channel of now, where its tag is
// another message: that one is lost, and nobody is told. So consume on the raw channel that `setup` gets, and settle nowhere else.
import assert from 'node:assert/strict'
import { connect as connectOnce, type Channel } from 'amqplib'
import { connect } from 'amqp-connection-manager'
import { defineConsumer, json, messageId } from 'consume-once'
import { memoryStore } from 'consume-once/memory'
import { confirmedPublisher, onMessage, type OnMessage } from 'consume-once/amqplib'
import { eventually, ownName, rabbitUrl } from './support/servers.ts'

const queue = ownName('sms')
const deadQueue = `${queue}.dead-letter`
const sent: string[] = []
const sms = defineConsumer({
  name: 'sms-sender',
  id: messageId.property(),
  decode: json<{ to: string }>(),
  store: memoryStore(), // a real one survives the process: redisLease, postgresInbox
  handle: ({ payload }) => sent.push(payload.to),
})
const publisher = confirmedPublisher(rabbitUrl())

const connection = connect([rabbitUrl()])
let take: OnMessage | undefined
let latest: Channel | undefined
let isStopping = false

function consume(): void {
  const wrapper = connection.createChannel({
    setup: async (channel: Channel) => {
      latest = channel
      channel.on('error', (error) => console.error(error))
      // A channel that closes alone, its connection alive, is not recovered by the wrapper: take another.
      channel.on('close', () => {
        setTimeout(() => {
          if (isStopping || latest !== channel || !connection.isConnected()) return
          void wrapper.close()
          consume()
        }, 1_000)
      })
      await channel.prefetch(100)
      for (const name of [queue, deadQueue]) {
        await channel.assertQueue(name, { durable: true, arguments: { 'x-queue-type': 'quorum' } })
      }
      // One for each channel: what the last one delivered is settled there or not at all.
      const current = onMessage(channel, sms, { queue, deadLetter: { publisher, queue: deadQueue } })
      take = current
      await channel.consume(queue, (message) => {
        current(message)
        if (message === null) void channel.close() // the broker has ended the consumer: begin anew
      })
    },
  })
  wrapper.on('error', (error) => console.error(error))
}
consume()

await eventually(async () => take?.health().ready === true)
const message = { routingKey: queue, messageId: 'sms-1', body: '{"to":"+15550100"}' }
await publisher.publish(message)
await publisher.publish(message)
connection.reconnect()
await publisher.publish(message)
await publisher.publish({ ...message, messageId: 'sms-2', body: '{"to":"+15550101"}' })
await eventually(async () => sent.length === 2)

isStopping = true
await take?.stop()
await connection.close()
assert.deepEqual(sent, ['+15550100', '+15550101'])
console.log('4 messages published, reconnected in between, 2 SMS')

await publisher.close()
const cleanUp = await connectOnce(rabbitUrl())
const channel = await cleanUp.createChannel()
for (const name of [queue, deadQueue]) await channel.deleteQueue(name)
await cleanUp.close()
