// RabbitMQ, a MariaDB inbox and its outbox: a payment and the job that follows from it commit together.
import assert from 'node:assert/strict'
import { connect } from 'amqplib'
import { createPool } from 'mysql2/promise'
import { defineConsumer, json, messageId } from 'consume-once'
import { confirmedPublisher, runRabbit } from 'consume-once/amqplib'
// #region readme
import { mysqlInbox, mysqlOutbox } from 'consume-once/mysql2'
// #endregion
import { eventually, mariadbUrl, ownName, rabbitUrl } from './support/servers.ts'

interface Payment {
  account: string
  cents: number
}

const [queue, receipts] = [ownName('payments'), ownName('receipts')]
const database = ownName('outbox')
const admin = createPool({ uri: mariadbUrl(), connectionLimit: 1 })
await admin.query(`create database ${database}`)
const pool = createPool({ uri: mariadbUrl(), database })
await pool.query('create table charge (account varchar(100), cents int) engine = InnoDB')
await pool.query('create table receipt (account varchar(100), cents int) engine = InnoDB')
// #region readme

const publisher = confirmedPublisher(rabbitUrl())
const outbox = mysqlOutbox({ pool, publishers: { rabbitmq: publisher } })

const payments = defineConsumer({
  name: 'charge-account',
  id: messageId.property(), // AMQP's messageId
  decode: json<Payment>(),
  store: mysqlInbox({ pool, outbox }),
  handle: async ({ payload, tx, publish }) => {
    await tx.execute('insert into charge (account, cents) values (?, ?)', [payload.account, payload.cents])
    await publish({ routingKey: receipts, body: JSON.stringify(payload) }) // a queue by its name; or { exchange, routingKey }
  },
})
// #endregion

const writer = defineConsumer({
  name: 'receipts',
  id: messageId.property(), // the outbox has set it
  decode: json<Payment>(),
  store: mysqlInbox({ pool }),
  handle: async ({ payload, tx }) => {
    await tx.execute('insert into receipt (account, cents) values (?, ?)', [payload.account, payload.cents])
  },
})

const running = [
  await runRabbit(rabbitUrl(), payments, { queue }),
  await runRabbit(rabbitUrl(), writer, { queue: receipts }),
]
const body = JSON.stringify({ account: 'acc-1', cents: 1250 })
for (let copy = 0; copy < 3; copy++) await publisher.publish({ routingKey: queue, messageId: 'p-1', body })

const count = async (table: string): Promise<number> =>
  ((await pool.query(`select * from ${table}`))[0] as unknown[]).length
await eventually(async () => (await count('receipt')) >= 1)
await Promise.all(running.map((one) => one.stop({ deadlineMs: 10_000 })))
assert.deepEqual([await count('charge'), await count('receipt'), await count('consume_once_outbox')], [1, 1, 0])
console.log('3 messages sent, 1 charge, 1 receipt')

await publisher.close()
const connection = await connect(rabbitUrl())
const channel = await connection.createChannel()
for (const name of [queue, receipts].flatMap((one) => [one, `${one}.dead-letter`])) await channel.deleteQueue(name)
await connection.close()
await admin.query(`drop database ${database}`)
await Promise.all([pool.end(), admin.end()])
