// Two questions about RabbitMQ: N attempts with a delay, then the dead-letter queue; and handlers that take long.
import assert from 'node:assert/strict'
import { connect } from 'amqplib'
import { defineConsumer, json, messageId, TerminalError } from 'consume-once'
import { memoryStore } from 'consume-once/memory'
import { confirmedPublisher, runRabbit } from 'consume-once/amqplib'
import { eventually, ownName, rabbitUrl } from './support/servers.ts'

const url = rabbitUrl()
const queue = ownName('emails')
const store = memoryStore()
const tried: string[] = []
async function send(to: string): Promise<void> {
  tried.push(to)
  if (to === 'full') throw new Error('mailbox full')
}
let deadLetters = 0

// #region retry
const emails = defineConsumer({
  name: 'email-sender',
  id: messageId.property(),
  decode: json<{ to: string }>(),
  store,
  maxAttempts: 3,
  handlerTimeoutMs: 10 * 60_000, // shorter than the broker's consumer_timeout
  handle: async ({ payload }) => {
    if (payload.to === '') throw new TerminalError('no address') // to the dead letters at once
    await send(payload.to) // an error is tried again
  },
  observe: (event) => {
    if (event.type === 'delivery' && event.outcome === 'dead-lettered') deadLetters++
  },
})

const running = await runRabbit(url, emails, { queue, retry: { delayQueues: [500, 2_000] } })
// #endregion

const publisher = confirmedPublisher(url)
for (const to of ['ada', 'full', '']) {
  await publisher.publish({ routingKey: queue, messageId: `to-${to}`, body: Buffer.from(JSON.stringify({ to })) })
}
await publisher.close()
await eventually(async () => deadLetters === 2)
assert.deepEqual(tried.toSorted(), ['ada', 'full', 'full', 'full'])
await running.stop()
console.log('1 sent; 1 dead letter after 3 attempts, 1 at once')

const connection = await connect(url)
const channel = await connection.createChannel()
for (const name of [queue, `${queue}.dead-letter`, `${queue}.retry-1`, `${queue}.retry-2`]) {
  await channel.deleteQueue(name)
}
await connection.close()
