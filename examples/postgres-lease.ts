// RabbitMQ and a Postgres lease: an effect outside of any database, without Redis. The outcome of one call is unknown: parked.
import assert from 'node:assert/strict'
import { connect, type Channel } from 'amqplib'
import { Pool } from 'pg'
import { confirmedPublisher, runRabbit } from 'consume-once/amqplib'
import { postgresLease } from 'consume-once/pg'
import { adminOf, defineConsumer, json, messageId, OutcomeUnknownError } from 'consume-once'
import { databaseUrl, eventually, ownName, rabbitUrl } from './support/servers.ts'

const queue = ownName('letters')
const schema = ownName('lease')
const sent: string[] = []

/** The stand-in for a provider that takes no idempotency key. Its second answer gets lost: the letter is sent all the same. */
async function sendLetter(to: string): Promise<void> {
  sent.push(to)
  if (to === 'Grace') throw new OutcomeUnknownError('the connection broke before the answer came')
}

const pool = new Pool({ connectionString: databaseUrl() })
const deadLetters = defineConsumer({
  name: 'letter-sender',
  id: messageId.property(),
  decode: json<{ to: string }>(),
  store: postgresLease({ pool, schema }), // one table of its own; the schema is `consume_once` unless you name one
  onInDoubt: 'park', // no letter goes out twice: a person decides
  handle: ({ payload }) => sendLetter(payload.to),
})

const running = await runRabbit(rabbitUrl(), deadLetters, { queue })
const publisher = confirmedPublisher(rabbitUrl())
const publish = (id: string, to: string): Promise<void> =>
  publisher.publish({ routingKey: queue, body: Buffer.from(JSON.stringify({ to })), messageId: id })
for (const [id, to] of [
  ['letter-1', 'Ada'],
  ['letter-1', 'Ada'],
  ['letter-2', 'Grace'],
] as const) {
  await publish(id, to)
}
await eventually(async () => sent.length === 2 && running.health().checks['handlers'] === '0 in flight')

// The provider's own list says that the letter to Grace went out. Every later delivery is a duplicate then.
const people = adminOf(deadLetters, { group: queue, origins: [queue] })
await eventually(async () => (await people.inspect(['letter-2']))[0]?.state === 'parked')
const [decided] = await people.resolve(['letter-2'], { as: 'done', by: 'ada', reason: 'in the list of the provider' })
assert.equal(decided?.verdict, 'decided')
await publish('letter-2', 'Grace')
await eventually(async () => (await messagesIn(queue)) === 0)
await running.stop({ deadlineMs: 10_000 })
await publisher.close()
assert.deepEqual(sent.toSorted(), ['Ada', 'Grace'])
console.log('4 messages published, 2 letters sent, the one in doubt parked and resolved by a person')

await pool.query(`drop schema ${schema} cascade`)
await pool.end()
await withChannel(async (channel) => {
  for (const name of [queue, `${queue}.dead-letter`]) await channel.deleteQueue(name)
})

async function messagesIn(name: string): Promise<number> {
  return withChannel(async (channel) => (await channel.checkQueue(name)).messageCount)
}

async function withChannel<T>(work: (channel: Channel) => Promise<T>): Promise<T> {
  const connection = await connect(rabbitUrl())
  try {
    return await work(await connection.createChannel())
  } finally {
    await connection.close()
  }
}
