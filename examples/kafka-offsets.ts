// Strategy offsets: the position of a partition lies in the transaction of the effects. The group's offsets, set back by hand, change nothing.
import assert from 'node:assert/strict'
// #region readme
import { Kafka, logLevel } from 'kafkajs'
import { Pool } from 'pg'
import { defineConsumer, json } from 'consume-once'
import { runKafka } from 'consume-once/kafkajs'
import { postgresOffsets } from 'consume-once/pg'
// #endregion
import { databaseUrl, eventually, kafkaBrokers, ownName } from './support/servers.ts'

process.env['KAFKA_BROKERS'] ??= kafkaBrokers().join(',')
process.env['DATABASE_URL'] ??= databaseUrl()
const topic = ownName('readings')
const schema = ownName('offsets')
const groupId = ownName('group')
const setUp = new Kafka({ brokers: kafkaBrokers(), logLevel: logLevel.NOTHING })
const admin = setUp.admin()
await admin.connect()
await admin.createTopics({ topics: [{ topic, numPartitions: 1 }], waitForLeaders: false })
const producer = setUp.producer()
await producer.connect()

// #region readme
const brokers = (process.env['KAFKA_BROKERS'] ?? 'localhost:9092').split(',')
const kafka = new Kafka({ brokers, logLevel: logLevel.ERROR })
const pool = new Pool({ connectionString: process.env['DATABASE_URL'] })
await pool.query('create table if not exists reading (meter text, value int)')

const readings = defineConsumer({
  name: 'store-readings',
  decode: json<{ meter: string; value: number }>(), // no `id`: a message is its partition and offset
  store: postgresOffsets({ pool, schema }),
  handleBatch: async ({ messages, tx }) => {
    const [meters, values] = [
      messages.map(({ payload }) => payload.meter),
      messages.map(({ payload }) => payload.value),
    ]
    await tx.query('insert into reading select * from unnest($1::text[], $2::int[])', [meters, values])
  },
})

const running = await runKafka(kafka, readings, { topics: [topic], group: groupId })
// … and when the process ends: await running.stop({ deadlineMs: 10_000 })
// #endregion

const meter = `meter-${topic}`
const send = (values: readonly number[]): Promise<unknown> =>
  producer.send({ topic, acks: -1, messages: values.map((value) => ({ value: JSON.stringify({ meter, value }) })) })
const stored = async (): Promise<number> =>
  (await pool.query('select * from reading where meter = $1', [meter])).rows.length
await send([1, 2, 3])
await eventually(async () => (await stored()) === 3)
await running.stop({ deadlineMs: 10_000 })

await admin.setOffsets({ groupId, topic, partitions: [{ partition: 0, offset: '0' }] })
const again = await runKafka(kafka, readings, { topics: [topic], group: groupId })
await send([4])
await eventually(async () => (await stored()) >= 4)
await again.stop({ deadlineMs: 10_000 })
assert.equal(await stored(), 4)
console.log('4 readings sent, the group set back to its beginning, 4 rows')

await producer.disconnect()
await admin.deleteTopics({ topics: [topic, `${topic}.dead-letter`] })
await admin.deleteGroups([groupId])
await admin.disconnect()
await pool.query(`drop table reading; drop schema ${schema} cascade`)
await pool.end()
