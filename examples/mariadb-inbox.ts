// RabbitMQ and a MariaDB inbox: effect and mark in one transaction. A message that is published three times has one row.
import assert from 'node:assert/strict'
import { connect } from 'amqplib'
import { confirmedPublisher, runRabbit } from 'consume-once/amqplib'
// #region readme
import { createPool } from 'mysql2/promise'
import { defineConsumer, json, messageId } from 'consume-once'
import { mysqlInbox } from 'consume-once/mysql2'
// #endregion
import { eventually, mariadbUrl, ownName, rabbitUrl } from './support/servers.ts'

const queue = ownName('payments')
const database = ownName('inbox')
const admin = createPool({ uri: mariadbUrl(), connectionLimit: 1 })
await admin.query(`create database ${database}`)

// #region readme

const pool = createPool({ uri: mariadbUrl(), database }) // connectionLimit: 2 or more
// #endregion
await pool.query('create table charge (account varchar(100), cents int) engine = InnoDB')

// #region readme
const payments = defineConsumer({
  name: 'charge-account',
  id: messageId.property(), // AMQP's messageId
  decode: json<{ account: string; cents: number }>(),
  store: mysqlInbox({ pool }), // its own tables, `consume_once_…`, in the pool's database unless you name one
  handle: async ({ payload, tx }) => {
    // Commits with the mark, or not at all.
    await tx.execute('insert into charge (account, cents) values (?, ?)', [payload.account, payload.cents])
  },
})
// #endregion

const running = await runRabbit(rabbitUrl(), payments, { queue })

const publisher = confirmedPublisher(rabbitUrl())
const pay = (id: string, cents: number) =>
  publisher.publish({
    routingKey: queue,
    body: Buffer.from(JSON.stringify({ account: 'acc-1', cents })),
    messageId: id,
  })
await pay('p-1', 1250)
await pay('p-1', 1250)
await pay('p-2', 300)
await pay('p-1', 1250)

const charges = async (): Promise<unknown[]> =>
  (await pool.query('select cents from charge order by cents'))[0] as unknown[]
await eventually(async () => (await charges()).length >= 2 && running.health().checks['handlers'] === '0 in flight')
await running.stop({ deadlineMs: 10_000 })
assert.deepEqual(await charges(), [{ cents: 300 }, { cents: 1250 }])
console.log('4 messages published, 2 payments, 2 charges')

await publisher.close()
const connection = await connect(rabbitUrl())
const channel = await connection.createChannel()
for (const name of [queue, `${queue}.dead-letter`]) await channel.deleteQueue(name)
await connection.close()
await admin.query(`drop database ${database}`)
await Promise.all([pool.end(), admin.end()])
