// The quick start with RabbitMQ and Redis. Run it twice: the second time, nothing is sent again.
import assert from 'node:assert/strict'
import { connect } from 'amqplib'
import { eventually, ownName } from './support/servers.ts'

const keep = process.env['QUEUE'] !== undefined
process.env['QUEUE'] ??= ownName('sms')
const lines: string[] = []
const print = console.log
console.log = (line) => {
  lines.push(line)
  print(line)
}
// #region readme
import { Redis } from 'ioredis'
import { defineConsumer, json, messageId } from 'consume-once'
import { confirmedPublisher, runRabbit } from 'consume-once/amqplib'
import { redisLease } from 'consume-once/redis'

const rabbitUrl = process.env['RABBITMQ_URL'] ?? 'amqp://guest:guest@127.0.0.1:5672'
const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379')
const queue = process.env['QUEUE'] ?? 'sms'

const sms = defineConsumer({
  name: 'sms-sender',
  decode: json<{ to: string }>(),
  id: messageId.property(), // AMQP's messageId: two messages with the same one are one SMS
  store: redisLease({ redis }),
  onInDoubt: 'park', // after a crash between effect and mark a person decides
  handle: ({ payload }) => {
    // Your provider's API. No answer, or a 5xx? throw new OutcomeUnknownError(...). Any other throw means: nothing was sent, try again.
    console.log(`SMS to ${payload.to}`)
  },
  observe: (event) => {
    if (event.type === 'attempt-failed') console.log('attempt failed:', String(event.error))
    if (event.type !== 'delivery') return
    const { outcome, why, reason, detail } = event
    console.log(outcome, ...[why, reason, detail].filter(Boolean))
  },
})

const running = runRabbit(rabbitUrl, sms, { queue })
const shutDown = async () => {
  await running.stop({ deadlineMs: 10_000 })
  redis.disconnect()
}
process.once('SIGINT', () => void shutDown()) // Ctrl+C
await running.ready()

// A producer that sends the SMS s-1 twice, and s-2 once.
const publisher = confirmedPublisher(rabbitUrl)
for (const id of ['s-1', 's-1', 's-2']) {
  await publisher.publish({ routingKey: queue, messageId: id, body: Buffer.from('{"to":"+15550100"}') })
}
await publisher.close()
// #endregion

// It ends by itself here: each of the three messages has been told.
const told = (): string[] => lines.filter((line) => !line.startsWith('SMS'))
await eventually(async () => told().length >= 3)
assert.equal(lines.length - told().length, told().filter((outcome) => outcome === 'handled').length)
process.kill(process.pid, 'SIGINT')
if (!keep) {
  await eventually(async () => redis.status === 'end')
  const connection = await connect(rabbitUrl)
  const channel = await connection.createChannel()
  for (const name of [queue, `${queue}.dead-letter`]) await channel.deleteQueue(name)
  await connection.close()
}
