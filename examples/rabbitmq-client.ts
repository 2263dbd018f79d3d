// Under rabbitmq-client 5, which owns the ack: handle() says what to return.
// The traps: after a lost connection it waits for all running handlers before it subscribes again, so that one hanging handler, or one
// message that waits for its next attempt, means no consumer at all: let go of them, what they end with is found by the redelivery.
// And it parses JSON before anybody sees it: see rabbitMessage().
import assert from 'node:assert/strict'
import { Connection, ConsumerStatus } from 'rabbitmq-client'
import { defineConsumer, json, messageId, runInline, type Settlement } from 'consume-once'
import { memoryStore } from 'consume-once/memory'
import { confirmedPublisher, rabbitDeadLetters, rabbitMessage } from 'consume-once/amqplib'
import { eventually, ownName, rabbitUrl } from './support/servers.ts'

const queue = ownName('sms')
const deadQueue = `${queue}.dead-letter`
const quorum = { durable: true, arguments: { 'x-queue-type': 'quorum' as const } }
const sent: string[] = []
const sms = defineConsumer({
  name: 'sms-sender',
  id: messageId.property(),
  decode: json<{ to: string }>(),
  store: memoryStore(), // a real one survives the process: redisLease, postgresInbox
  handle: ({ payload }) => sent.push(payload.to),
})

const connection = new Connection(rabbitUrl())
await connection.queueDeclare({ queue: deadQueue, ...quorum })
const publisher = confirmedPublisher(rabbitUrl())
// The keys are those of runRabbit on this queue. Failures are tried again in here; dead letters are published before the ack.
const inline = runInline(sms, { group: queue, publisher: rabbitDeadLetters(publisher, deadQueue) })
await inline.open() // else a store that is down would turn each delivery into an error, and a requeue

const underWay = new Set<(status: ConsumerStatus) => void>()
connection.on('error', (error) => {
  console.error(error)
  for (const letGo of underWay) letGo(ConsumerStatus.REQUEUE)
  underWay.clear()
})
const subscription = connection.createConsumer(
  { queue, queueOptions: quorum, qos: { prefetchCount: 100 } },
  (raw) =>
    new Promise<ConsumerStatus>((resolve, reject) => {
      underWay.add(resolve)
      const end = ({ settle }: Settlement): void => {
        underWay.delete(resolve)
        // Without a publisher there is also 'dead-letter': ConsumerStatus.DROP, which the queue's own dead-letter exchange must catch.
        resolve(settle === 'ack' ? ConsumerStatus.ACK : ConsumerStatus.REQUEUE)
      }
      inline.handle(rabbitMessage(raw, { queue })).then(end, reject)
    }),
)
subscription.on('error', (error) => console.error(error))
await new Promise((resolve) => subscription.once('ready', resolve))

const message = { routingKey: queue, messageId: 'sms-1', body: '{"to":"+15550100"}' }
await publisher.publish(message)
await publisher.publish(message)
await publisher.publish({ ...message, messageId: 'sms-2', body: 'no JSON' })
await eventually(
  async () =>
    sent.length === 1 && (await connection.queueDeclare({ queue: deadQueue, passive: true })).messageCount === 1,
)

await Promise.all([inline.stop(), subscription.close()])
assert.deepEqual(sent, ['+15550100'])
console.log('3 messages published, 1 SMS, 1 dead letter')

await publisher.close()
for (const name of [queue, deadQueue]) await connection.queueDelete({ queue: name })
await connection.close()
