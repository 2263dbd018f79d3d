// A request over RabbitMQ whose answer is kept: a request that is sent twice gets the same answer twice, and happens once.
import assert from 'node:assert/strict'
import { connect, type ConsumeMessage } from 'amqplib'
import { defineConsumer, json, messageId, runInline } from 'consume-once'
import { confirmedPublisher, rabbitMessage } from 'consume-once/amqplib'
import { redisLease } from 'consume-once/redis'
import { redisUnder, removeKeys } from './support/redis.ts'
import { eventually, ownName, rabbitUrl } from './support/servers.ts'

const queue = ownName('charge')
const redis = redisUnder(queue)
let charges = 0
const consumer = defineConsumer({
  name: 'charge',
  id: messageId.property(),
  decode: json<{ cents: number }>(),
  store: redisLease({ redis }),
  rememberResult: true,
  handle: ({ payload }) => ({ receipt: `r-${++charges}`, cents: payload.cents }),
})

const connection = await connect(rabbitUrl())
const channel = await connection.createChannel()
await channel.assertQueue(queue, { durable: true, arguments: { 'x-queue-type': 'quorum' } })
const answers: unknown[] = []
const answer = (_request: ConsumeMessage, { result, failure }: { result?: unknown; failure?: unknown }): void =>
  void answers.push(failure ?? result)

// #region readme
const running = runInline(consumer, { group: queue })
await running.open()
await channel.consume(queue, (raw) => {
  if (raw !== null) void take(raw)
})
async function take(raw: ConsumeMessage): Promise<void> {
  const { settle, result, failure } = await running.handle(rabbitMessage(raw, { queue }))
  if (settle !== 'ack') return channel.nack(raw, false, settle === 'retry')
  answer(raw, { result, failure }) // of the first run, for a duplicate too
  channel.ack(raw)
}
// #endregion

const publisher = confirmedPublisher(rabbitUrl())
const request = { routingKey: queue, messageId: 'order-17', body: '{"cents":100}' }
await Promise.all([publisher.publish(request), publisher.publish(request)])
await eventually(async () => answers.length === 2)
assert.deepEqual(answers, [
  { receipt: 'r-1', cents: 100 },
  { receipt: 'r-1', cents: 100 },
])
console.log('sent twice, charged once, answered twice:', answers[1])

await running.stop()
await publisher.close()
await channel.deleteQueue(queue)
await connection.close()
await removeKeys(queue)
await redis.quit()
